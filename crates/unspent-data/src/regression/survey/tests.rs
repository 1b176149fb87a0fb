use super::*;

const PLAIN: &str = "geo_id,name,pop25plus,lt_9th_grade,g9_12_no_diploma,hs_graduate,some_college_no_degree,associates,\
                     bachelors_or_higher,median_earnings";

fn read(heads: &str, row: &str) -> Result<Survey> {
    let mut survey = Survey::new(heads.split(','))?;
    survey.row(&row.split(';').collect::<Vec<_>>(), &[])?;
    Ok(survey)
}

#[test]
fn what_is_missing_is_left_out_by_reason() {
    for (row, reason) in [
        ("1400000US1;a;21;1;2;3;4;5;6;-", "earnings missing"),
        ("1400000US1;a;21;1;2;3;4;5;6;", "earnings missing"),
        ("1400000US1;a;21;1;2;3;4;5;6;-666666666", "earnings missing"),
        ("1400000US1;a;21;1;2;3;4;5;6;250,000+", "earnings only bounded"),
        ("1400000US1;a;21;1;2;3;4;5;6;2,500-", "earnings only bounded"),
        ("1400000US1;a;21;1;2;(X);4;5;6;40000", "education counts missing"),
        ("1400000US1;a;0;0;0;0;0;0;0;-", "nobody in it"),
    ] {
        let survey = read(PLAIN, row).unwrap();
        assert_eq!(survey.left_out(), [LeftOut { reason, areas: 1 }], "{row}");
        assert_eq!(
            survey.into_sample().unwrap_err().to_string(),
            format!("there are no areas; 1 area left out: {reason} (1)")
        );
    }
}

#[test]
fn numbers_may_have_commas() {
    let survey = read(PLAIN, "1400000US1;a;1,233,510;1,234;1,232,256;3;4;5;8;40,500.5").unwrap();
    assert_eq!(survey.geography().unwrap().name, "tracts");
    let area = Area { counts: [1_234, 1_232_256, 3, 4, 5, 8], earnings: 40_500.5 };
    assert_eq!(survey.areas, [area]);
    assert_eq!(without_commas("1,23"), "1,23");
}

#[test]
fn what_is_wrong_is_named() {
    for (row, cause) in [
        ("1;a;20;1;2;3;4;5;6;40000", "the six counts by education sum to 21, not to the population, 20"),
        ("1;a;21;-1;2;3;4;5;6;40000", "lt_9th_grade: `-1` is not a count"),
        ("1;a;21;1;2;14.3;4;5;6;40000", "hs_graduate: `14.3` is not a count"),
        ("1;a;21;1;2;3;4;5;6;many", "median_earnings: `many` is not earnings between 0 and 1e12"),
        ("1;a;21;1;2;3;4;5;6;-40000", "median_earnings: `-40000` is not earnings between 0 and 1e12"),
        ("1;a;21", "has 3 columns; the first line has 10"),
    ] {
        assert_eq!(read(PLAIN, row).unwrap_err().revealed().to_string(), cause);
    }
    let row = "1;a;20;1;2;3;4;5;6;40000";
    let cause = "the six counts by education do not sum to the population";
    assert_eq!(read(PLAIN, row).unwrap_err().to_string(), cause);
    assert_eq!(read("a,b", "1;2").unwrap_err().to_string(), "there is no column `lt_9th_grade`");
    let twice = format!("{PLAIN},name");
    assert_eq!(read(&twice, "").unwrap_err().to_string(), "there are two columns `name`");
}

#[test]
fn areas_are_called_what_most_of_them_are() {
    let mut survey = Survey::new(PLAIN.split(',')).unwrap();
    let mut read = |code: &str| {
        let fields = [code, "a", "21", "1", "2", "3", "4", "5", "6", "40000"];
        survey.row(&fields, &["1600000US7".into()]).unwrap();
        (survey.geography().map(|g| g.name), survey.strangers())
    };
    assert_eq!(read("05000001"), (None, 0));
    assert_eq!(read("0500000US1"), (None, 0));
    assert_eq!(read("0500000US2"), (Some("counties"), 1));
    assert_eq!(read("1600000US6"), (None, 0));
    assert_eq!(read("1600000US7"), (None, 0), "left out");
    assert_eq!(read("0500000US3"), (Some("counties"), 2));
}

#[test]
fn degrees_are_added_up_where_they_are_apart() {
    let heads = "GEO_ID,S1501_C01_007E,S1501_C01_008E,S1501_C01_009E,S1501_C01_010E,S1501_C01_011E,S1501_C01_012E,\
                 S1501_C01_013E,S1501_C01_015E,S1501_C01_059E";
    let survey = read(heads, "860Z200US05001;1;2;3;4;5;6;7;(X);40000").unwrap();
    assert_eq!(survey.geography().unwrap().name, "ZIP code areas");
    assert_eq!(survey.areas[0].counts, [1, 2, 3, 4, 5, 13]);
}

#[test]
fn labels_are_no_area_and_must_be_of_earnings() {
    let heads = PLAIN.replace("median_earnings", "S1501_C01_059E");
    let heads = EDUCATION.iter().fold(heads, |heads, [bureau, plain]| heads.replace(plain, bureau));
    let row =
        |label: &str| read(&heads, &["Geography", "a", "b", "c", "d", "e", "f", "g", "h", label].join(";"));
    let survey = row("Estimate!!Total!!MEDIAN EARNINGS IN THE PAST 12 MONTHS").unwrap();
    assert!(survey.left_out().is_empty() && survey.areas.is_empty());
    assert_eq!(
        row("Total!!Estimate!!Poverty").unwrap_err().to_string(),
        "S1501_C01_059E: `Total!!Estimate!!Poverty` is not median earnings"
    );
}
