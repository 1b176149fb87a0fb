//! What the paper printed: Su, Su and Wang, "The 2020 US Decennial Census is more private than you (might)
//! think", PNAS 2025. Numbers are kept as they stand there, so that their last digit says how well they are
//! known.

/// A geographic level in Table 1: its share of the budget in percent, σ² as published and reduced, and the
/// reduction.
pub struct Level {
    /// As in the preset.
    pub name: &'static str,
    /// Share of ρ.
    pub share: &'static str,
    /// The Bureau's σ².
    pub sigma2: &'static str,
    /// The σ² that would do.
    pub reduced: &'static str,
    /// The reduction in percent.
    pub reduction: &'static str,
}

const fn level(
    name: &'static str,
    share: &'static str,
    sigma2: &'static str,
    reduced: &'static str,
    reduction: &'static str,
) -> Level {
    Level { name, share, sigma2, reduced, reduction }
}

/// Table 1, and the shares of the allocation table. PEPG and Tract Subset Group share one column there.
pub const LEVELS: [Level; 8] = [
    level("US", "2.0", "68.49", "54.19", "20.88"),
    level("State", "27.40", "5.00", "4.25", "15.08"),
    level("County", "8.50", "16.12", "13.28", "17.58"),
    level("PEPG", "13.10", "10.46", "8.72", "16.62"),
    level("Tract Subset Group", "13.10", "10.46", "8.72", "16.62"),
    level("Tract Subset", "23.80", "5.76", "4.87", "15.33"),
    level("Optimized Block Group", "11.80", "11.61", "9.65", "16.89"),
    level("Block", "0.3", "456.62", "343.27", "24.82"),
];

/// ε at one level.
pub struct EpsilonAt {
    /// The level.
    pub level: &'static str,
    /// Where it stands.
    pub place: &'static str,
    /// δ.
    pub delta: &'static str,
    /// By the Bureau's accounting, if printed.
    pub bureau: Option<&'static str>,
    /// By the paper's.
    pub tight: Option<&'static str>,
    /// The reduction in percent.
    pub reduction: Option<&'static str>,
}

/// Values of ε in the text.
pub const EPSILONS: [EpsilonAt; 5] = [
    EpsilonAt {
        level: "State",
        place: "Introduction",
        delta: "1e-11",
        bureau: Some("11.07"),
        tight: Some("10.13"),
        reduction: None,
    },
    EpsilonAt {
        level: "State",
        place: "Introduction",
        delta: "1e-5",
        bureau: Some("7.79"),
        tight: Some("6.57"),
        reduction: None,
    },
    EpsilonAt {
        level: "US",
        place: "Results, accuracy",
        delta: "1e-11",
        bureau: Some("2.79"),
        tight: None,
        reduction: None,
    },
    EpsilonAt {
        level: "State",
        place: "Results, levels",
        delta: "1e-11",
        bureau: None,
        tight: None,
        reduction: Some("8.50"),
    },
    EpsilonAt {
        level: "Block",
        place: "Results, levels",
        delta: "1e-11",
        bureau: None,
        tight: None,
        reduction: Some("13.76"),
    },
];

/// The table of residuals: n, and the bound at σ² = 1, 5 and 10. At σ² ≥ 16 it says "≪ 10⁻¹⁰⁰".
pub const RESIDUALS: [(u64, [&str; 3]); 8] = [
    (5, ["5e-6", "3e-32", "2e-65"]),
    (9, ["5e-7", "1e-36", "4e-74"]),
    (10, ["4e-7", "3e-37", "3e-75"]),
    (18, ["2e-7", "2e-39", "2e-79"]),
    (20, ["9e-8", "8e-40", "4e-80"]),
    (27, ["7e-8", "2e-40", "2e-81"]),
    (50, ["4e-8", "2e-41", "3e-83"]),
    (100, ["2e-8", "6e-42", "3e-84"]),
];

/// Reductions of MSE and MAE in the simulation on Pennsylvania, without and with cutting at zero, in percent.
/// The tract row used the noise of Tract Subset.
pub struct Simulated {
    /// Geography in the data.
    pub geography: &'static str,
    /// The level whose noise it gets.
    pub level: &'static str,
    /// MSE without cutting.
    pub mse: &'static str,
    /// MAE without cutting.
    pub mae: &'static str,
    /// MSE with counts cut at zero.
    pub mse_cut: &'static str,
    /// MAE with counts cut at zero.
    pub mae_cut: &'static str,
}

/// The figures in the text.
pub const SIMULATED: [Simulated; 4] = [
    Simulated {
        geography: "state",
        level: "State",
        mse: "14.14",
        mae: "7.39",
        mse_cut: "14.01",
        mae_cut: "7.83",
    },
    Simulated {
        geography: "county",
        level: "County",
        mse: "17.44",
        mae: "9.40",
        mse_cut: "17.31",
        mae_cut: "8.80",
    },
    Simulated {
        geography: "tract",
        level: "Tract Subset",
        mse: "15.45",
        mae: "8.47",
        mse_cut: "15.21",
        mae_cut: "8.40",
    },
    Simulated {
        geography: "block",
        level: "Block",
        mse: "24.78",
        mae: "13.26",
        mse_cut: "24.65",
        mae_cut: "13.14",
    },
];

/// The overall promise, (ε, δ).
pub const OVERALL: (&str, &str) = ("21.97", "1e-10");
/// How much variance could go at it, in percent, by the first of two terms.
pub const OVERALL_REDUCTION: &str = "8.59";
/// How much less the slope of earnings on education was distorted at state level, in percent, from three
/// draws.
pub const SLOPE: &str = "60.57";
