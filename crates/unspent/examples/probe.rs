use unspent::mechanism::Described;
use unspent::{Composition, Delta, Epsilon};
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    s.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}
fn main() {
    // probe effort op value mech mech ...; op: e d p q
    let a: Vec<String> = std::env::args().skip(1).collect();
    if a[0] == "reading" {
        use unspent::question::{Ask, ReadingQuestion, Terms};
        for body in std::fs::read_to_string(&a[1]).unwrap().lines() {
            let q: ReadingQuestion = serde_json::from_str(body).unwrap();
            let start = cpu();
            let r = q.ask(&Terms::fast()).unwrap();
            println!("{:?}\n{:.4} s  {}", r.attacks, cpu() - start, &body[..body.len().min(150)]);
        }
        return;
    }
    let effort = a[0].parse().unwrap();
    let groups: Vec<_> = a[3..]
        .iter()
        .map(|t| {
            let Described { mechanism, count } = Described::parse(t).unwrap();
            (mechanism, count)
        })
        .collect();
    let c0 = cpu();
    let c = Composition::with_effort(groups, effort).unwrap();
    for round in 0..2 {
        for op in a[1].chars() {
            for value in a[2].split(',') {
                let start = cpu();
                let out = match op {
                    'e' => {
                        let b = c.epsilon(&Delta::parse(value).unwrap()).unwrap();
                        format!(
                            "[{}, {}] rel {:.2e}",
                            b.lower(),
                            b.upper(),
                            (b.upper() - b.lower()) / b.upper()
                        )
                    }
                    _ => {
                        let e = Epsilon::parse(value).unwrap();
                        let b = match op {
                            'd' => c.delta(&e),
                            'p' => c.p_tail(&e),
                            _ => c.q_tail(&e),
                        }
                        .unwrap();
                        let w = match op {
                            'd' | 'q' | 'p' => format!("{:?}", b.to_decimal()),
                            _ => String::new(),
                        };
                        let d = b.ln();
                        format!("{w} rel {:.2e}", d.upper() - d.lower())
                    }
                };
                println!(
                    "{round} {op} {value} {:?}: {out}; {:.4} s (made {:.4})",
                    c.method(),
                    cpu() - start,
                    start - c0
                );
            }
        }
    }
}
