use std::time::Instant;
use unspent_estimate::tables::{Rows, nearest_whole};
struct R(u64);
impl R {
    fn u(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
fn run(children: usize, cells: usize, per: f64, off: f64, reps: usize) {
    let mut r = R(12345);
    let mut best = f64::MAX;
    let mut sum = 0.0;
    for _ in 0..reps {
        // cells with very different sizes, children too; near = product noise-ish
        let size: Vec<f64> = (0..cells)
            .map(|_| {
                let x = r.u();
                x * x * x * x * x * x
            })
            .collect();
        let t: f64 = size.iter().sum();
        let scale: Vec<f64> = (0..children).map(|_| 0.2 + 1.6 * r.u()).collect();
        let mut truth = vec![0i64; cells * children];
        let mut near = vec![0.0; cells * children];
        for i in 0..cells {
            for c in 0..children {
                let mean = per * scale[c] * size[i] / t;
                let z = mean + (r.u() - 0.5) * mean.sqrt() * 3.0;
                truth[i * children + c] = (z + r.u()).floor().max(0.0) as i64;
                near[i * children + c] = z.max(0.0);
            }
        }
        let columns: Vec<i64> = truth.chunks(children).map(|x| x.iter().sum()).collect();
        let mut rows = vec![0i64; children];
        for x in truth.chunks(children) {
            for c in 0..children {
                rows[c] += x[c];
            }
        }
        // make near meet sums roughly (Sinkhorn)
        for _ in 0..(if off > 0.0 { 0 } else { 60 }) {
            for (i, x) in near.chunks_mut(children).enumerate() {
                let s: f64 = x.iter().sum();
                if s > 0.0 {
                    x.iter_mut().for_each(|v| *v *= columns[i] as f64 / s);
                }
            }
            let mut s = vec![0.0; children];
            for x in near.chunks(children) {
                for c in 0..children {
                    s[c] += x[c];
                }
            }
            for x in near.chunks_mut(children) {
                for c in 0..children {
                    if s[c] > 0.0 {
                        x[c] *= rows[c] as f64 / s[c];
                    }
                }
            }
        }
        let g = vec![0u32; cells];
        let now = Instant::now();
        let y = nearest_whole(children, &near, &columns, Some(Rows { group_of: &g, sums: &rows })).unwrap();
        let e = now.elapsed().as_secs_f64();
        best = best.min(e);
        sum += e;
        for (i, x) in y.chunks(children).enumerate() {
            assert_eq!(x.iter().sum::<i64>(), columns[i]);
        }
        for c in 0..children {
            assert_eq!((0..cells).map(|i| y[i * children + c]).sum::<i64>(), rows[c]);
        }
    }
    println!("{children} x {cells} per {per} off {off}: mean {:.6} best {best:.6}", sum / reps as f64);
}
fn main() {
    if let Some(x) = std::env::args().nth(1) {
        if x == "small" {
            run(47, 40, 42.0, 0.0, 20000);
            return;
        }
    }
    let big = std::env::args().nth(1).is_some();
    if std::env::var("TRACE").is_ok() {
        run(47, 40, 42.0, 0.0, 2);
        run(200, 500, 4000.0, 0.0, 1);
    }
    run(47, 40, 42.0, 0.0, 2000);
    run(47, 40, 400.0, 0.0, 2000);
    run(47, 40, 42.0, 1.0, 500);
    run(4, 300, 1400.0, 0.0, 500);
    run(200, 500, 4000.0, 0.0, 3);
    if big {
        run(2500, 2016, 4000.0, 0.0, 1);
        run(2500, 2016, 4000.0, 1.0, 1);
        run(2500, 2016, 400000.0, 0.0, 1);
    }
}
