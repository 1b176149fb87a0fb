//! Curves and areas cut at the edge of a panel.
//!
//! A clip path alone would do on the screen. But coordinates far outside the page upset editors'
//! vector programs, and dashes and markers are to be counted along what is seen.

/// A point on the page.
pub type Point = (f64, f64);

/// A line on the edge is inside, whatever rounding made of it.
const EDGE: f64 = 1e-6;

/// The plotting area: left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left and right.
    pub x: (f64, f64),
    /// Top and bottom.
    pub y: (f64, f64),
}

impl Area {
    /// Whether the point is inside or on the edge.
    pub fn contains(&self, (x, y): Point) -> bool {
        let within = |at: f64, (low, high): (f64, f64)| at >= low - EDGE && at <= high + EDGE;
        within(x, self.x) && within(y, self.y)
    }

    /// The area without a border of this width.
    pub fn shrunk(&self, by: f64) -> Area {
        Area { x: (self.x.0 + by, self.x.1 - by), y: (self.y.0 + by, self.y.1 - by) }
    }

    /// The visible pieces of a line. A NaN ends a piece.
    pub fn cut(&self, line: &[Point]) -> Vec<Vec<Point>> {
        let mut pieces: Vec<Vec<Point>> = vec![];
        for pair in line.windows(2) {
            let Some((from, to)) = self.visible(pair[0], pair[1]) else { continue };
            match pieces.last_mut() {
                Some(piece) if piece.last() == Some(&from) => piece.push(to),
                _ => pieces.push(vec![from, to]),
            }
        }
        pieces
    }

    /// The visible part of a segment (Liang and Barsky).
    fn visible(&self, from: Point, to: Point) -> Option<(Point, Point)> {
        let d = (to.0 - from.0, to.1 - from.1);
        let (mut start, mut end) = (0.0_f64, 1.0_f64);
        let sides = [
            (-d.0, from.0 - self.x.0),
            (d.0, self.x.1 - from.0),
            (-d.1, from.1 - self.y.0),
            (d.1, self.y.1 - from.1),
        ];
        for (speed, room) in sides {
            if speed.is_nan() || room.is_nan() || (speed == 0.0 && room < -EDGE) {
                return None;
            }
            match speed {
                _ if speed < 0.0 => start = start.max((room + EDGE) / speed),
                _ if speed > 0.0 => end = end.min((room + EDGE) / speed),
                _ => {}
            }
        }
        let at = |t: f64| (from.0 + t * d.0, from.1 + t * d.1);
        let first = if start == 0.0 { from } else { at(start) };
        let last = if end == 1.0 { to } else { at(end) };
        (start <= end).then_some((first, last))
    }

    /// The visible part of a polygon (Sutherland and Hodgman).
    pub fn cut_polygon(&self, polygon: &[Point]) -> Vec<Point> {
        // Each side as a signed distance, positive inside.
        let sides: [&dyn Fn(Point) -> f64; 4] =
            [&|p| p.0 - self.x.0, &|p| self.x.1 - p.0, &|p| p.1 - self.y.0, &|p| self.y.1 - p.1];
        let mut polygon = polygon.to_vec();
        for inside in sides {
            let mut kept = vec![];
            for (i, &to) in polygon.iter().enumerate() {
                let from = polygon[(i + polygon.len() - 1) % polygon.len()];
                let (a, b) = (inside(from), inside(to));
                if (a < 0.0) != (b < 0.0) {
                    let t = a / (a - b);
                    kept.push((from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)));
                }
                if b >= 0.0 {
                    kept.push(to);
                }
            }
            polygon = kept;
        }
        polygon
    }
}

/// Points along the pieces, `spacing` apart, the first after `start` spacings; at least one.
pub fn along(pieces: &[Vec<Point>], spacing: f64, start: f64) -> Vec<Point> {
    let segments = || pieces.iter().flat_map(|piece| piece.windows(2));
    let length = |s: &[Point]| (s[1].0 - s[0].0).hypot(s[1].1 - s[0].1);
    let total: f64 = segments().map(length).sum();
    let mut next = if total > start * spacing { start * spacing } else { 0.5 * total };
    let mut points = vec![];
    let mut walked = 0.0;
    for segment in segments() {
        let step = length(segment);
        while step > 0.0 && next <= walked + step {
            let t = (next - walked) / step;
            let ((x0, y0), (x1, y1)) = (segment[0], segment[1]);
            points.push((x0 + t * (x1 - x0), y0 + t * (y1 - y0)));
            next += spacing;
        }
        walked += step;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { x: (0.0, 10.0), y: (0.0, 10.0) };

    #[test]
    fn lines_are_cut_at_the_edge() {
        let pieces = AREA.cut(&[(-5.0, 5.0), (5.0, 5.0), (5.0, 1e5), (9.0, 1e5), (9.0, 9.0)]);
        assert_eq!(pieces.len(), 2);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        assert!(near(pieces[0][0].0, 0.0) && pieces[0][1] == (5.0, 5.0) && near(pieces[0][2].1, 10.0));
        assert_eq!(AREA.cut(&[(0.0, -1e-9), (10.0, -1e-9)]).len(), 1);
        assert!(AREA.cut(&[(-1.0, 2.0), (-1.0, 8.0)]).is_empty());
        assert_eq!(AREA.cut(&[(1.0, 1.0), (2.0, 2.0), (f64::NAN, 3.0), (4.0, 4.0), (5.0, 5.0)]).len(), 2);
    }

    #[test]
    fn polygons_are_cut_at_the_edge() {
        let cut = AREA.cut_polygon(&[(-5.0, 2.0), (15.0, 2.0), (15.0, 1e5), (-5.0, 1e5)]);
        assert_eq!(cut.len(), 4);
        assert!(cut.iter().all(|&p| AREA.contains(p)));
        assert!(AREA.cut_polygon(&[(20.0, 20.0), (30.0, 20.0), (30.0, 30.0)]).is_empty());
        assert!(AREA.cut_polygon(&[]).is_empty());
    }

    #[test]
    fn short_lines_get_one_marker() {
        assert_eq!(along(&[vec![(0.0, 0.0), (4.0, 0.0)]], 50.0, 0.5), [(2.0, 0.0)]);
        assert_eq!(along(&[vec![(0.0, 0.0), (100.0, 0.0)]], 50.0, 0.5), [(25.0, 0.0), (75.0, 0.0)]);
        assert!(along(&[], 50.0, 0.5).is_empty());
    }
}
