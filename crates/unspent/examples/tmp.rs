//! tmp
use std::time::Instant;
use unspent::*;
fn main() {
    for name in std::env::args().skip(1) {
        let t = Instant::now();
        let r = Release::from(Allocation::preset(&name).unwrap());
        let c = Certificate::without_reductions(&r, None, None).unwrap();
        let t1 = t.elapsed();
        println!("{name} {:.3}", t1.as_secs_f64());
        for l in &c.lines { println!("  {:28} {:>5} {} {} main {:?} attained {}", l.label, l.cases, l.tight.at_most(11), l.tight.at_least(11), l.main_path.as_ref().map(|m| m.at_most(9)), l.attained); }
        let t = Instant::now();
        let c = Certificate::new(&r, None, None).unwrap();
        println!("with reductions {:.3}", t.elapsed().as_secs_f64());
        for l in &c.reductions { println!("  {} {:?} {}", l.scope, l.name, l.factor); }
    }
}
