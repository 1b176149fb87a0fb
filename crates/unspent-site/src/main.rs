//! The pages that stand alone, each with the WebAssembly module inside: `make wasm` calls
//! `unspent-site MODULE.wasm DIRECTORY`.

use std::io::{self, Write};
use std::path::Path;
use std::{env, fs};

use flate2::{Compression, GzBuilder};
use unspent_explorer::alone::PAGES;

fn main() -> io::Result<()> {
    let [module, directory] = &env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err(io::Error::other("usage: unspent-site MODULE.wasm DIRECTORY"));
    };
    // Without a name and a time: of one module the same bytes.
    let mut packed = GzBuilder::new().write(vec![], Compression::best());
    packed.write_all(&fs::read(module)?)?;
    let packed = packed.finish()?;
    fs::create_dir_all(directory)?;
    for page in &PAGES {
        let html = page.html(&packed);
        fs::write(Path::new(directory).join(page.name), &html)?;
        println!("{}: {} kB", page.name, html.len().div_ceil(1000));
    }
    Ok(())
}
