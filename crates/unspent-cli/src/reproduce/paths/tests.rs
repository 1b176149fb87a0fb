//! What was published is read as it was printed, and judged kindly.

use super::*;

#[test]
fn what_is_kept_is_what_was_published() {
    let kept = Published::read();
    assert_eq!((kept.epsilons.len(), kept.conversions.len(), kept.rows.len()), (42, 42, 946));
    assert!(kept.rows.iter().all(|row| row.len() == 42));
    // Every δ is a probability. It falls with ε, except at the last point (conversion 1e-21) of 736 pairs:
    // there the published values are below the accuracy of the published computation.
    let falls = |row: &[Rational]| row.windows(2).all(|pair| pair[0] > pair[1]);
    for row in &kept.rows {
        assert!(row[0] < Rational::from(1) && row[41] > Rational::from(0));
        assert!(falls(&row[..41]));
    }
    assert_eq!(kept.rows.iter().filter(|row| !falls(row)).count(), 736);
    // The first and the last point, as they are printed.
    assert_eq!(kept.rows[0][0], "7.55692083994468738e-2".parse().unwrap());
    assert_eq!(kept.rows[945][41], "1.48073826716443755e-22".parse().unwrap());
}

#[test]
fn a_verdict_is_as_kind_as_the_bounds_allow() {
    let number = |text: &str| text.parse::<Rational>().unwrap();
    let of = |text: &str| Verdict::of(&number(text), &number("0.5"), &number("0.625"));
    assert_eq!(["0.5", "0.6", "0.625"].map(of), [Verdict::Agrees; 3]);
    assert_eq!(["0.495", "0.49999", "0.63125"].map(of), [Verdict::Percent; 3]);
    assert_eq!(["0.49499", "0.63126", "10"].map(of), [Verdict::Off; 3]);
}
