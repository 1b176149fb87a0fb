//! A table of blocks to be measured, and what is left where it was.

use std::fs::File;
use std::path::Path;

use super::{EXAMPLE, Place};

pub const RACES: [&str; 8] = ["white", "black", "hisp", "aian", "asian", "nhpi", "other", "two"];

/// Blocks with some people in them: two counties, three tracts each, and so on.
pub fn table(blocks: usize) -> String {
    let mut text = String::from("geoid");
    for kind in ["pop", "vap"] {
        RACES.iter().for_each(|race| text += &format!(",{kind}_{race}"));
    }
    text.push('\n');
    for i in 0..blocks {
        let (block, group, tract) = (i % 20 + 1, i / 20 % 4 + 1, i / 80 % 100 + 1);
        text += &format!("44{:03}{tract:06}{group}{block:03}", i / 8_000 + 1);
        let pop: Vec<usize> = (0..8).map(|race| (i * 7 + race * 13) % (40 / (race + 1))).collect();
        pop.iter().for_each(|n| text += &format!(",{n}"));
        pop.iter().for_each(|n| text += &format!(",{}", n * 3 / 4));
        text.push('\n');
    }
    text
}

/// Everything in a directory but the tables that were put there.
pub fn left_behind(place: &Place) -> Vec<String> {
    place.names().into_iter().filter(|n| !n.ends_with(".csv") && !n.ends_with(".toml")).collect()
}

pub fn measure<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["measure", "blocks.csv", "--allocation", EXAMPLE, "--out", out], more].concat()
}

pub fn with_blocks(name: &str, blocks: usize) -> Place {
    let place = Place::new(name);
    place.write("blocks.csv", table(blocks));
    place
}

/// The table as Parquet: codes as texts, counts of 32 and of 64 bits; perhaps with one that is missing.
pub fn parquet_table(path: &Path, csv: &str, rows_a_group: usize, missing: bool) {
    use parquet::basic::Encoding;
    use parquet::data_type::{ByteArrayType, Int32Type, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let fields = heads[1..].iter().map(|head| {
        if head.starts_with("pop") {
            format!("required int32 {head};")
        } else {
            format!("optional int64 {head};")
        }
    });
    let schema = format!("message table {{ required binary geoid (UTF8); {} }}", fields.collect::<String>());
    let schema = parse_message_type(&schema).unwrap().into();
    // Some columns with a dictionary, and some as differences.
    let mut properties = WriterProperties::builder()
        .set_column_dictionary_enabled("geoid".into(), false)
        .set_column_encoding("geoid".into(), Encoding::DELTA_BYTE_ARRAY);
    for head in heads.iter().filter(|head| head.starts_with("pop")) {
        properties = properties
            .set_column_dictionary_enabled((*head).into(), false)
            .set_column_encoding((*head).into(), Encoding::DELTA_BINARY_PACKED);
    }
    let properties = properties.build().into();
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    for rows in rows.chunks(rows_a_group) {
        let mut group = writer.next_row_group().unwrap();
        for (i, head) in heads.iter().enumerate() {
            let mut column = group.next_column().unwrap().unwrap();
            let numbers: Vec<i64> = rows.iter().map(|row| row[i].parse().unwrap()).collect();
            if i == 0 {
                let codes: Vec<_> = rows.iter().map(|row| row[0].into()).collect();
                column.typed::<ByteArrayType>().write_batch(&codes, None, None).unwrap();
            } else if head.starts_with("pop") {
                let numbers: Vec<i32> = numbers.iter().map(|n| i32::try_from(*n).unwrap()).collect();
                column.typed::<Int32Type>().write_batch(&numbers, None, None).unwrap();
            } else if missing {
                let mut present = vec![1; rows.len()];
                present[0] = 0;
                column.typed::<Int64Type>().write_batch(&numbers[1..], Some(&present), None).unwrap();
            } else {
                column.typed::<Int64Type>().write_batch(&numbers, Some(&vec![1; rows.len()]), None).unwrap();
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}
