//! What is written of a unit: the answer to each query with its variance and its intervals.

use unspent_estimate::{AnswerClasses, Confidence, Model, NamedSum, Precision, Scratch, SumOfCells};

/// Rounding errors of an estimate, relative to the largest count that was read: eight times the largest that
/// was found against exact rationals, where variances differed by 10⁴ (`theory/estimates.md`).
const ROUNDING: f64 = 1.0 / (1u64 << 34) as f64;

/// A query, or a sum of cells, that is answered for every unit.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) shape: Vec<u32>,
    kind: Kind,
}

impl Asked {
    /// How many answers it has.
    pub(super) fn length(&self) -> usize {
        self.shape.iter().map(|n| *n as usize).product()
    }
}

#[derive(Debug)]
enum Kind {
    Query(AnswerClasses),
    Sum(Summed),
}

/// A sum of cells.
#[derive(Debug)]
pub(super) struct Summed {
    pub(super) cells: SumOfCells,
    pub(super) coordinates: Vec<f64>,
    pub(super) weights: Vec<i32>,
}

impl Summed {
    pub(super) fn new(model: &Model, weights: Vec<i32>) -> Summed {
        let (cells, coordinates) = SumOfCells::new(model, &weights, &mut Scratch::default());
        Summed { cells, coordinates, weights }
    }
}

/// All that is answered.
#[derive(Debug)]
pub(super) struct Questions {
    pub(super) asked: Vec<Asked>,
    confidence: Confidence,
    slack: f64,
}

/// Half of the width of intervals, and the variance behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Margin {
    Unknown,
    Exact,
    Known { variance: f64, normal: f64, guaranteed: f64 },
}

/// An estimate with its intervals.
///
/// Confidence intervals: the first is right as often as it says if the error is normal, which is no
/// guarantee; the second at least so often, whatever the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The estimate, which is unbiased and may be negative.
    pub value: f64,
    /// Its variance; 0 if it is exact.
    pub variance: f64,
    /// The normal interval: whole counts from zero on; none if no such count is near enough.
    pub normal: Option<(i64, i64)>,
    /// The guaranteed one.
    pub guaranteed: Option<(i64, i64)>,
}

impl Questions {
    pub(super) fn new(
        model: &Model,
        queries: &[usize],
        sums: &[NamedSum],
        confidence: Confidence,
        largest_count: i64,
    ) -> Questions {
        let mut asked = vec![];
        for query in queries {
            let known = &model.space().queries()[*query];
            let kind = Kind::Query(AnswerClasses::new(model, *query));
            asked.push(Asked { name: known.name.clone(), shape: known.shape(), kind });
        }
        for sum in sums {
            let kind = Kind::Sum(Summed::new(model, sum.weights(model.space())));
            asked.push(Asked { name: sum.name().into(), shape: vec![1], kind });
        }
        Questions { asked, confidence, slack: ROUNDING * largest_count as f64 }
    }

    /// The margins of each class of answers, by how precisely sums of cells are known.
    pub(super) fn margins(&self, precision: impl Fn(&SumOfCells) -> Precision) -> Vec<Vec<Margin>> {
        let of_asked = |asked: &Asked| match &asked.kind {
            Kind::Query(classes) => classes.classes.iter().map(|sum| self.margin(precision(sum))).collect(),
            Kind::Sum(sum) => vec![self.margin(precision(&sum.cells))],
        };
        self.asked.iter().map(of_asked).collect()
    }

    pub(super) fn margin(&self, precision: Precision) -> Margin {
        match precision {
            Precision::Unknown => Margin::Unknown,
            Precision::Exact => Margin::Exact,
            Precision::Variance(variance) => {
                let deviation = variance.sqrt();
                let normal = self.confidence.normal(deviation);
                let guaranteed = self.confidence.guaranteed(deviation) + self.slack;
                Margin::Known { variance, normal, guaranteed }
            }
        }
    }

    /// Hands on the answers of each question: its place, and the estimates, none where one is not determined.
    pub(super) fn answer(
        &self,
        model: &Model,
        coordinates: &[f64],
        margins: &[Vec<Margin>],
        (only, needed, least): (&[bool], &[bool], f64),
        scratch: &mut Scratch,
        mut take: impl FnMut(&Asked, &mut dyn Iterator<Item = Option<Estimated>>),
    ) {
        let answered = model.answer(coordinates, needed, scratch);
        for ((asked, margins), _) in self.asked.iter().zip(margins).zip(only).filter(|(_, only)| **only) {
            match &asked.kind {
                Kind::Query(classes) => {
                    let values = &answered.answers[classes.query];
                    let margin =
                        |class: &Option<u16>| class.map_or(Margin::Exact, |c| margins[usize::from(c)]);
                    let pairs = values.iter().zip(&classes.class_of);
                    take(asked, &mut pairs.map(|(value, class)| estimated(least, *value, margin(class))));
                }
                Kind::Sum(sum) => {
                    let value = sum.coordinates.iter().zip(coordinates).map(|(w, x)| w * x).sum();
                    take(asked, &mut std::iter::once(estimated(least, value, margins[0])));
                }
            }
        }
    }

    /// The queries of the space that are needed to answer some of the questions.
    pub(super) fn needed(&self, model: &Model, only: &[bool]) -> Vec<bool> {
        let mut wanted = vec![false; model.space().queries().len()];
        for (asked, only) in self.asked.iter().zip(only) {
            if let (Kind::Query(classes), true) = (&asked.kind, only) {
                wanted[classes.query] = true;
            }
        }
        model.space().needed(&wanted)
    }

    /// The sum of that name, or the only answer of a query.
    pub(super) fn sum(&self, model: &Model, name: &str) -> Option<Summed> {
        let asked = self.asked.iter().find(|asked| asked.name == name)?;
        let weights = match &asked.kind {
            Kind::Sum(sum) => sum.weights.clone(),
            Kind::Query(classes) if asked.shape == [1] => {
                let counts = |cell| i32::from(model.space().place_of(classes.query, cell).is_some());
                (0..model.space().cells()).map(counts).collect()
            }
            Kind::Query(_) => return None,
        };
        Some(Summed::new(model, weights))
    }

    /// The queries among the questions.
    pub(super) fn queries(&self) -> Vec<AnswerClasses> {
        let query = |asked: &Asked| match &asked.kind {
            Kind::Query(classes) => Some(classes.clone()),
            Kind::Sum(_) => None,
        };
        self.asked.iter().filter_map(query).collect()
    }

    pub(super) fn confidence(&self) -> &Confidence {
        &self.confidence
    }
}

/// The intervals around an estimate of a whole number that is at least so large.
fn estimated(least: f64, value: f64, margin: Margin) -> Option<Estimated> {
    match margin {
        Margin::Unknown => None,
        Margin::Exact => {
            let value = value.round();
            let ends = Some((value as i64, value as i64));
            Some(Estimated { value, variance: 0.0, normal: ends, guaranteed: ends })
        }
        Margin::Known { variance, normal, guaranteed } => Some(Estimated {
            value,
            variance,
            normal: whole(least, value, normal),
            guaranteed: whole(least, value, guaranteed),
        }),
    }
}

/// The first and the last whole number from `least` on that is within a margin. True counts are such numbers,
/// so that none of them is lost.
fn whole(least: f64, value: f64, margin: f64) -> Option<(i64, i64)> {
    let (lower, upper) = ((value - margin).ceil().max(least), (value + margin).floor());
    (lower <= upper).then_some((lower as i64, upper as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guaranteed_margins_cover_the_rounding_of_large_counts() {
        let space = unspent_estimate::Space::new(&[1], vec![], &[], &[]).unwrap();
        let model = Model::new(space).unwrap();
        let confidence = Confidence::new("0.95".parse().unwrap()).unwrap();
        let bound = confidence.guaranteed(2.0);
        let questions = Questions::new(&model, &[], &[], confidence, 1 << 34);
        let Margin::Known { guaranteed, normal, .. } = questions.margin(Precision::Variance(4.0)) else {
            panic!("it is known");
        };
        assert!(guaranteed >= bound + 1.0 && normal < bound, "{guaranteed} {normal}");
    }

    #[test]
    fn ends_are_whole_counts_inside_the_margin() {
        assert_eq!(whole(0.0, 10.3, 2.5), Some((8, 12)));
        assert_eq!(whole(0.0, 10.0, 2.0), Some((8, 12)));
        assert_eq!(whole(0.0, 1.2, 3.0), Some((0, 4)));
        assert_eq!(whole(0.0, 3.4, 0.2), None);
        assert_eq!(whole(0.0, -7.5, 2.0), None);
        assert_eq!(whole(0.0, -1.5, 2.0), Some((0, 0)));
    }
}
