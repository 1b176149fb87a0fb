use unspent::*;
use std::time::Instant;
fn comp(groups: &[(&str, u64)]) -> Composition {
    Composition::new(groups.iter().map(|(s, n)| (DiscreteGaussian::parse(s, "1").unwrap(), *n))).unwrap()
}
fn eps(c: &Composition, d: &str, expect: &str) {
    let t = Instant::now();
    let e = c.epsilon(&Delta::parse(d).unwrap()).unwrap();
    println!("eps({d}) = {:?} expect {expect} width {:.1e} {:?} {:?}", e.to_decimal(), e.upper() - e.lower(), c.method(), t.elapsed());
}
fn del(c: &Composition, e: &str) {
    let t = Instant::now();
    let d = c.delta(&Epsilon::parse(e).unwrap()).unwrap();
    println!("del({e}) = {:?} width {:.1e} {:?} {:?}", d.to_decimal(), d.relative_width(), c.method(), t.elapsed());
}
fn main() {
    let c = comp(&[("5", 10)]);
    eps(&c, "1e-11", "10.1248309344810"); eps(&c, "1e-50", "21.8984804322233");
    let c = comp(&[("5000", 1890)]); eps(&c, "1e-5", "2.51298931444041");
    let c = comp(&[("1000000", 1000000)]); eps(&c, "1e-11", "6.90182024499939");
    let census = || { let a = [20, 274, 85, 131, 238, 118, 3]; let n = [10, 10, 10, 20, 10, 10, 10];
        Composition::new(a.iter().zip(n).map(|(a, n)| (DiscreteGaussian::parse(&format!("100000/{}", 73 * a), "1").unwrap(), n))).unwrap() };
    let c = census(); eps(&c, "1e-10", "20.3246897507897"); eps(&c, "1e-10", "20.3246897507897");
    del(&c, "21.97"); del(&c, "21.97"); del(&c, "0"); del(&c,"5");
    // sqrt 2 to 40 digits
    let root = Rational::parse("", "1.4142135623730950488016887242096980785697").unwrap();
    let five = Rational::integer(5);
    let c = Composition::new((0..80u64).map(|j| (DiscreteGaussian::new(&five + &(&root * &Rational::from(j)), 1).unwrap(), 1))).unwrap();
    eps(&c, "1e-10", "10.4987093571952"); eps(&c, "1e-10", "10.4987093571952");
    del(&c, "10.4987093571952"); del(&c, "10.4987093571952");
    let c = c.with_tolerance(1e-9).unwrap();
    eps(&c, "1e-10", "10.4987093571952"); eps(&c, "1e-10", "10.4987093571952");
    for (s, n) in [("1/100", 1), ("1/100", 1000000), ("0.3", 1), ("0.3", 1000000), ("5", 1), ("5", 1 << 63), ("1e12", 1), ("1e-3", 1), ("1e-3", 1<<40)] {
        let c = comp(&[(s, n)]);
        println!("--- {s} x {n}");
        for d in ["1e-1000", "1e-10", "0.999999999999"] { eps(&c, d, ""); }
        for e in ["0", "1", "200"] { del(&c, e); }
    }
    for g in [vec![("0.37",1),("12.9",1)], vec![("0.37",1),("12.9",1),("1.234567",2)], vec![("0.37",7),("12.9",5),("1.234567",3)]] {
        let c = comp(&g);
        println!("--- {g:?}");
        for d in ["1e-10", "0.5"] { eps(&c, d, ""); }
        for e in ["0", "1", "20"] { del(&c, e); }
    }
}
