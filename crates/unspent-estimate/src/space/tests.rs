use super::*;

fn query(name: &str, parts: Vec<Partition>) -> Query {
    Query { name: name.into(), parts, known: true }
}

#[test]
fn answers_are_sums_of_cells_also_where_attributes_share_an_axis() {
    // Attributes 0 and 2 share a zero: (1, 0) does not occur.
    let attributes = [2, 3, 2];
    let (id, sum) = (Partition::identity, Partition::summed);
    let recode = Partition::new(2, vec![Some(1), None, Some(0)]);
    let queries = vec![
        query("total", vec![sum(2), sum(3), sum(2)]),
        query("first and last", vec![id(2), sum(3), id(2)]),
        query("all", vec![id(2), id(3), id(2)]),
        query("recode", vec![sum(2), recode, id(2)]),
    ];
    let zero = Impossible::from([(0, vec![1]), (2, vec![0])]);
    let space = Space::new(&attributes, queries, &[zero], &[]).unwrap();
    assert_eq!((space.cells(), space.axes.len()), (9, 2));
    let cells: Vec<f64> = space.cell_numbers().iter().map(|n| f64::from(*n) + 0.5).collect();
    let mut answers = vec![vec![]; 4];
    space.answer(&cells, &[true; 4], &mut answers);
    let number = |a: usize, b: usize, c: usize| ((a * 3 + b) * 2 + c) as f64 + 0.5;
    let count = |keep: &dyn Fn(usize, usize, usize) -> bool| -> f64 {
        let all = (0..2).flat_map(|a| (0..3).flat_map(move |b| (0..2).map(move |c| (a, b, c))));
        all.filter(|(a, b, c)| !(*a == 1 && *c == 0) && keep(*a, *b, *c))
            .map(|(a, b, c)| number(a, b, c))
            .sum()
    };
    assert_eq!(answers[0], [count(&|_, _, _| true)]);
    assert_eq!(answers[1][3], count(&|a, _, c| a == 1 && c == 1));
    assert_eq!(answers[1][2], 0.0);
    assert_eq!(answers[3][1], count(&|_, b, c| b == 2 && c == 1));
    assert_eq!(answers[3][2], count(&|_, b, c| b == 0 && c == 0));
    // The adjoint: spreading gives each cell the sum of what counts it.
    let mut given: Vec<Vec<f64>> =
        answers.iter().map(|a| (0..a.len()).map(|i| i as f64 + 1.0).collect()).collect();
    let left: f64 = given.iter().zip(&answers).flat_map(|(g, a)| g.iter().zip(a)).map(|(g, a)| g * a).sum();
    let mut spread = vec![0.0; 9];
    space.spread(&mut given, &mut spread);
    let right: f64 = spread.iter().zip(&cells).map(|(s, c)| s * c).sum();
    assert!((left - right).abs() < 1e-9 * left.abs());
}

/// Three axes, the last with recodes that cross.
pub(crate) fn crossing() -> Space {
    let (id, sum) = (Partition::identity, Partition::summed);
    let recode = |groups, of: &[u32]| Partition::new(groups, of.iter().map(|g| Some(*g)).collect());
    let query = |parts| Query { name: "q".into(), parts, known: true };
    let queries = vec![
        query(vec![sum(4), sum(3), sum(5)]),
        query(vec![id(4), sum(3), sum(5)]),
        query(vec![id(4), id(3), sum(5)]),
        query(vec![sum(4), id(3), recode(2, &[0, 0, 0, 1, 1])]),
        query(vec![id(4), sum(3), recode(3, &[0, 0, 1, 1, 2])]),
        query(vec![id(4), id(3), id(5)]),
    ];
    Space::new(&[4, 3, 5], queries, &[], &[]).unwrap()
}
