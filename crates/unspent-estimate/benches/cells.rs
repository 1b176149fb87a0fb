//! Speed of the arithmetic of a leaf: its measurements to coordinates, its share of what its parent knows,
//! and all answers with the table. `cargo bench -p unspent-estimate`, one thread; nanoseconds a cell are the
//! inverse of the items a second. Beside it, the same answers by plain sums of cells, without any estimate.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use unspent::Allocation;
use unspent_estimate::{Measured, Model, Node, Scratch, Space, Tree, UnitClass};

fn main() {
    divan::main();
}

/// The redistricting data of 2020: 2,016 cells, 11 queries.
struct Leaf {
    model: Arc<Model>,
    tree: Tree,
    values: unspent_estimate::Values,
    class: UnitClass,
    answers: Vec<Vec<i64>>,
}

fn leaf() -> Leaf {
    let allocation = Allocation::preset("pl94-persons-us-2020").unwrap();
    let model = Arc::new(Model::new(Space::of_allocation(&allocation, &[], &[]).unwrap()).unwrap());
    let space = model.space();
    let [above, class] = [4, 5].map(|level| UnitClass::of_level(space, &allocation, level, level).unwrap());
    let count = |query: usize, i: usize| ((query * 7 + i * 13) % 23) as i64 - 11;
    let answers: Vec<Vec<i64>> = (0..space.queries().len())
        .map(|query| (0..space.queries()[query].length()).map(|i| count(query, i)).collect())
        .collect();
    let mut scratch = Scratch::default();
    let mut measured = |class: &UnitClass| {
        let mut gradient = vec![0.0; space.cells()];
        model.gradient(&class.variances, |query| &answers[query], &mut scratch, &mut gradient);
        Measured { gradient, exact: vec![] }
    };
    let all = vec![measured(&above), measured(&class)];
    let node = |parent, class: &UnitClass, count| Node {
        parent,
        class: Arc::new(model.class(class.clone())),
        count,
    };
    let nodes = vec![node(None, &above, 1.0), node(Some(0), &class, 34.0)];
    let (tree, values) = Tree::estimate(&model, nodes, all, false).unwrap();
    Leaf { model: model.clone(), tree, values, class, answers }
}

#[divan::bench]
fn estimate_a_leaf(bencher: Bencher) {
    let Leaf { model, tree, values, class, answers } = leaf();
    let cells = model.space().cells();
    let solver = model.leaf(Arc::new(model.class(class.clone())));
    let wanted = vec![true; answers.len()];
    let mut scratch = Scratch::default();
    let mut coordinates = vec![0.0; cells];
    let mut measured = Measured { gradient: vec![0.0; cells], exact: vec![] };
    bencher.counter(ItemsCount::new(cells)).bench_local(move || {
        model.gradient(&class.variances, |query| &answers[query], &mut scratch, &mut measured.gradient);
        tree.leaf_coordinates(&values, 1, &solver, &measured, &mut coordinates).unwrap();
        model.answer(&coordinates, &wanted, &mut scratch).answers[0][0]
    });
}

#[divan::bench]
fn sum_cells_to_answers(bencher: Bencher) {
    let Leaf { model, answers, .. } = leaf();
    let space = model.space();
    let cells: Vec<f64> = (0..space.cells()).map(|i| (i % 17) as f64).collect();
    let places: Vec<Vec<Option<usize>>> = (0..answers.len())
        .map(|query| (0..space.cells()).map(|cell| space.place_of(query, cell)).collect())
        .collect();
    let mut sums: Vec<Vec<f64>> = answers.iter().map(|answers| vec![0.0; answers.len()]).collect();
    bencher.counter(ItemsCount::new(cells.len())).bench_local(move || {
        for (sums, places) in sums.iter_mut().zip(&places) {
            sums.fill(0.0);
            for (x, place) in cells.iter().zip(places) {
                if let Some(place) = place {
                    sums[*place] += x;
                }
            }
        }
        sums[0][0]
    });
}
