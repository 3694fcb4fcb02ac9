//! Random numbers that are the same on every machine.

use std::f64::consts::TAU;

use travertine_lang::bpmnos::Fault;
use travertine_value::{Number, Value};

/// A source of random numbers (`splitmix64`).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// More tries are not made for one number.
const TRIES_MAX: u32 = 1_000_000;

impl Random {
    /// The source of a seed and of what it is for.
    pub(crate) fn new(seed: u64, what: &[&str]) -> Self {
        // FNV-1a, with an end after each text.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
        for text in what {
            for byte in text.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Self(hash)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, without, 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double keeps")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Marsaglia and Tsang's method, of scale 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = (1.0 - self.unit()).powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.unit()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// A number of the distribution of that name; `None` where there is none.
    pub(crate) fn draw(&mut self, name: &str, arguments: &[Value]) -> Option<Result<Value, Fault>> {
        let numbers: Option<Vec<f64>> =
            arguments.iter().map(|it| it.as_number().map(Number::to_f64)).collect();
        let wrong = |of: &str| Some(Err(Fault(format!("{name} is of {of}"))));
        let numbers = numbers.unwrap_or_default();
        let drawn = match (name, &numbers[..]) {
            ("uniform", &[from, to]) if from <= to => from + (to - from) * self.unit(),
            ("uniform_int", &[from, to]) if from <= to => (from.ceil()
                + ((to.floor() - from.ceil() + 1.0) * self.unit()).floor())
            .min(to.floor()),
            ("normal", &[mean, deviation]) if deviation >= 0.0 => mean + deviation * self.normal(),
            ("lognormal", &[mean, deviation]) if deviation >= 0.0 => {
                (mean + deviation * self.normal()).exp()
            }
            ("exponential", &[rate]) if rate > 0.0 => self.exponential() / rate,
            ("poisson", &[mean]) if (0.0..=100_000.0).contains(&mean) => self.poisson(mean),
            ("bernoulli", &[chance]) if (0.0..=1.0).contains(&chance) => {
                f64::from(u8::from(self.unit() < chance))
            }
            ("binomial", &[tries, chance])
                if (0.0..=f64::from(TRIES_MAX)).contains(&tries)
                    && (0.0..=1.0).contains(&chance) =>
            {
                let mut hits = 0_u32;
                let mut made = 0.0;
                while made < tries.floor() {
                    hits += u32::from(self.unit() < chance);
                    made += 1.0;
                }
                f64::from(hits)
            }
            ("gamma", &[shape, scale]) if shape > 0.0 && scale > 0.0 => self.gamma(shape) * scale,
            ("geometric", &[chance]) if chance > 0.0 && chance < 1.0 => {
                ((1.0 - self.unit()).ln() / (1.0 - chance).ln()).floor()
            }
            ("geometric", &[1.0]) => 0.0,
            ("triangular", &[from, mode, to]) if from <= mode && mode <= to && from < to => {
                let unit = self.unit();
                let split = (mode - from) / (to - from);
                if unit < split {
                    from + (unit * (to - from) * (mode - from)).sqrt()
                } else {
                    to - ((1.0 - unit) * (to - from) * (to - mode)).sqrt()
                }
            }
            ("uniform" | "uniform_int", _) => return wrong("two numbers, the smaller first"),
            ("normal" | "lognormal", _) => return wrong("a mean and a deviation"),
            ("exponential", _) => return wrong("a rate above 0"),
            ("poisson", _) => return wrong("a mean from 0 to 100,000"),
            ("bernoulli", _) => return wrong("a chance from 0 to 1"),
            ("binomial", _) => return wrong("up to 1,000,000 tries and a chance from 0 to 1"),
            ("gamma", _) => return wrong("a shape and a scale above 0"),
            ("geometric", _) => return wrong("a chance above 0 and up to 1"),
            ("triangular", _) => return wrong("the least, the likeliest and the greatest"),
            _ => return None,
        };
        let number = Number::from_f64(drawn);
        Some(number.map(Value::from).ok_or_else(|| Fault(format!("{name} gives no number"))))
    }

    /// In parts of which each has a chance that a double can tell.
    fn poisson(&mut self, mean: f64) -> f64 {
        let mut left = mean;
        let mut count = 0.0;
        while left > 0.0 {
            let part = left.min(500.0);
            left -= part;
            let limit = (-part).exp();
            let mut chance = self.unit();
            while chance > limit {
                chance *= self.unit();
                count += 1.0;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(name: &str, arguments: &[Value]) -> f64 {
        let mut random = Random::new(7, &["a", name]);
        let mut sum = 0.0;
        for _ in 0..20_000 {
            let drawn = random.draw(name, arguments).unwrap().unwrap();
            sum += drawn.as_number().unwrap().to_f64();
        }
        sum / 20_000.0
    }

    #[test]
    fn each_distribution_has_its_mean() {
        let half: Value = Number::from_f64(0.5).unwrap().into();
        for (name, arguments, expected) in [
            ("uniform", vec![2.into(), 4.into()], 3.0),
            ("uniform_int", vec![1.into(), 6.into()], 3.5),
            ("normal", vec![10.into(), 2.into()], 10.0),
            ("lognormal", vec![0.into(), half.clone()], 1.133),
            ("exponential", vec![half.clone()], 2.0),
            ("poisson", vec![4.into()], 4.0),
            ("poisson", vec![600.into()], 600.0),
            ("bernoulli", vec![half.clone()], 0.5),
            ("binomial", vec![10.into(), half.clone()], 5.0),
            ("gamma", vec![half.clone(), 3.into()], 1.5),
            ("gamma", vec![2.into(), 3.into()], 6.0),
            ("geometric", vec![half], 1.0),
            ("triangular", vec![0.into(), 3.into(), 6.into()], 3.0),
        ] {
            let found = mean(name, &arguments);
            assert!((found - expected).abs() < expected * 0.05, "{name}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_seed_and_what_it_is_for_decide_the_numbers() {
        let drawn = |seed, what: &[&str]| Random::new(seed, what).next();
        assert_eq!(drawn(1, &["a", "b"]), drawn(1, &["a", "b"]));
        assert_ne!(drawn(1, &["a", "b"]), drawn(1, &["ab"]));
        assert_ne!(drawn(1, &["a"]), drawn(2, &["a"]));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut random = Random::new(0, &[]);
        assert!(random.draw("uniform", &[4.into(), 2.into()]).unwrap().is_err());
        assert!(random.draw("bernoulli", &["often".into()]).unwrap().is_err());
        assert!(random.draw("dice", &[]).is_none());
    }
}
