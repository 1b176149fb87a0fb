//! Answers of estimates, column by column, as NumPy wants them.

use numpy::PyArray1;
use pyo3::prelude::*;
use unspent_data::estimate::Estimated;

/// The numbers of answers: value, variance and the ends of the intervals; NaN where there is none.
#[derive(Default)]
pub struct Numbers([Vec<f64>; 6]);

impl Numbers {
    pub fn push(&mut self, answer: Option<&Estimated>) {
        let end = |end: Option<i64>| end.map_or(f64::NAN, |end| end as f64);
        let row = answer.map_or([f64::NAN; 6], |answer| {
            let Estimated { value, variance, normal, guaranteed } = *answer;
            let (lower, upper) = (normal.map(|ends| ends.0), normal.map(|ends| ends.1));
            let (least, most) = (guaranteed.map(|ends| ends.0), guaranteed.map(|ends| ends.1));
            [value, variance, end(lower), end(upper), end(least), end(most)]
        });
        self.0.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
    }

    pub fn arrays(self, py: Python<'_>) -> PyResult<Vec<Bound<'_, PyArray1<f64>>>> {
        Ok(self.0.into_iter().map(|column| PyArray1::from_vec(py, column)).collect())
    }
}

/// Answers for units: a code, a query and how many answers there are; and the numbers of all answers.
#[derive(Default)]
pub struct UnitRows {
    pub codes: Vec<String>,
    pub queries: Vec<i64>,
    pub lengths: Vec<i64>,
    pub numbers: Numbers,
}

impl UnitRows {
    pub fn push(&mut self, code: &str, query: usize, answers: &[Option<Estimated>]) {
        self.codes.push(code.into());
        self.queries.push(query as i64);
        self.lengths.push(answers.len() as i64);
        answers.iter().for_each(|answer| self.numbers.push(answer.as_ref()));
    }
}

/// What makes tables.
pub fn builders(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("unspent._estimates")
}
