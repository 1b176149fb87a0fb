mod bounds;
mod dense;
mod examples;
mod random;
mod variances;
