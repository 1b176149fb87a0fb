//! How a role looks.
//!
//! The colours are Okabe and Ito's, told apart by colour-blind readers, without those too pale for a
//! thin line on white. No two roles share dashes or marker, so a grayscale print will do.

use crate::Role;

/// A marker on a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A bare line; as a point, a disc.
    None,
    /// A ring.
    Circle,
    /// Point up.
    Triangle,
    /// Upright.
    Square,
    /// On its corner.
    Diamond,
    /// Two strokes.
    Cross,
}

/// How a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shading {
    /// Full colour.
    Solid,
    /// Pale, with an outline.
    Tint,
    /// Stripes at this angle in degrees, with an outline.
    Stripes(u8),
}

/// What a role is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Of line, marker and area.
    pub colour: &'static str,
    /// Of the line.
    pub width: f64,
    /// As in `stroke-dasharray`; empty if solid.
    pub dash: &'static str,
    /// On the line, now and then.
    pub marker: Marker,
    /// Of bars.
    pub shading: Shading,
    /// Drawn from the lowest up. Thin dashes on a heavy line leave both to be seen where they coincide.
    pub order: u8,
}

/// The look of a role.
pub fn look(role: Role) -> Look {
    use Marker::{Circle, Cross, Diamond, None, Square, Triangle};
    use Shading::{Solid, Stripes, Tint};
    let (colour, width, dash, marker, shading, order) = match role {
        Role::Guarantee => ("#0072B2", 3.0, "", None, Solid, 1),
        Role::Alternative => ("#8F3F71", 2.2, "13 4", Diamond, Stripes(90), 2),
        Role::Reference => ("#777777", 1.3, "", None, Tint, 0),
        Role::Baseline(n) => match n % 4 {
            0 => ("#D55E00", 1.9, "8 4", Circle, Tint, 3),
            1 => ("#007D5A", 1.9, "2.5 3", Triangle, Stripes(45), 3),
            2 => ("#6B5B00", 1.9, "9 3 2 3", Square, Stripes(135), 3),
            _ => ("#1A1A1A", 1.9, "5 3 1.5 3 1.5 3", Cross, Stripes(0), 3),
        },
    };
    Look { colour, width, dash, marker, shading, order }
}
