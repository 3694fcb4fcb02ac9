//! Laws of numbers and expressions, over random ones.
//!
//! Decimals are held against whole numbers of any size, which come from another library: what is
//! exact there must be exact here, and what has to be rounded must be rounded as documented.

use std::cmp::Ordering;

use num_bigint::BigInt;
use proptest::prelude::*;
use travertine_value::{Number, NumberError};

const DIGITS_MAX: usize = 34;

/// The place value of the last digit can be this high and this low.
const EXPONENT_MAX: i64 = 6111;
const EXPONENT_MIN: i64 = -6176;

/// `coefficient * 10 ** exponent`, of any size, without trailing zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exact {
    coefficient: BigInt,
    exponent: i64,
}

fn ten_to(power: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).expect("a power of ten that is whole"))
}

fn digits(whole: &BigInt) -> usize {
    whole.magnitude().to_string().len()
}

impl Exact {
    fn new(coefficient: BigInt, exponent: i64) -> Self {
        if coefficient == BigInt::ZERO {
            return Self { coefficient, exponent: 0 };
        }
        let text = coefficient.to_string();
        let zeros = text.len() - text.trim_end_matches('0').len();
        let zeros = i64::try_from(zeros).expect("a short text");
        Self { coefficient: coefficient / ten_to(zeros), exponent: exponent + zeros }
    }

    /// Reads digits with an optional sign and point.
    fn read(text: &str) -> Self {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let coefficient = format!("{whole}{fraction}").parse().expect("digits");
        Self::new(coefficient, -i64::try_from(fraction.len()).expect("a short text"))
    }

    fn text(&self) -> String {
        format!("{}e{}", self.coefficient, self.exponent)
    }

    /// Both coefficients at the lower of the two exponents, and that.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let at = |it: &Self| &it.coefficient * ten_to(it.exponent - exponent);
        (at(self), at(other), exponent)
    }

    fn plus(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::new(a + b, exponent)
    }

    fn minus(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::new(a - b, exponent)
    }

    fn times(&self, other: &Self) -> Self {
        let exponent = self.exponent + other.exponent;
        Self::new(&self.coefficient * &other.coefficient, exponent)
    }

    /// The quotient, with so many digits that what is cut off can only break a tie: it leaves a
    /// digit behind for that.
    fn over(&self, other: &Self) -> Self {
        const MORE: i64 = 80;
        let dividend = &self.coefficient * ten_to(MORE);
        let (mut quotient, rest) = (&dividend / &other.coefficient, &dividend % &other.coefficient);
        let mut exponent = self.exponent - other.exponent - MORE;
        if rest != BigInt::ZERO {
            let is_negative = (dividend < BigInt::ZERO) != (other.coefficient < BigInt::ZERO);
            quotient = quotient * 10 + if is_negative { -1 } else { 1 };
            exponent -= 1;
        }
        Self::new(quotient, exponent)
    }

    fn order(&self, other: &Self) -> Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }

    /// What is kept of it: 34 digits, half to even; nothing where it is out of range.
    fn kept(&self) -> Result<Self, NumberError> {
        let superfluous = digits(&self.coefficient).saturating_sub(DIGITS_MAX);
        let superfluous = i64::try_from(superfluous).expect("small");
        let rounded = if superfluous == 0 {
            self.clone()
        } else {
            let unit = ten_to(superfluous);
            let (quotient, rest) = (&self.coefficient / &unit, &self.coefficient % &unit);
            let twice: BigInt = BigInt::from(rest.magnitude().clone()) * 2;
            let is_up = match twice.cmp(&unit) {
                Ordering::Less => false,
                Ordering::Equal => &quotient % 2 != BigInt::ZERO,
                Ordering::Greater => true,
            };
            let away = if self.coefficient < BigInt::ZERO { -1 } else { 1 };
            let quotient = if is_up { quotient + away } else { quotient };
            Self::new(quotient, self.exponent + superfluous)
        };
        let highest = i64::try_from(digits(&self.coefficient)).expect("small") + self.exponent;
        // Where a tiny result would keep fewer digits than that, it is refused and not rounded.
        let is_cut = highest < EXPONENT_MIN + 34 && rounded != *self;
        let highest =
            i64::try_from(digits(&rounded.coefficient)).expect("small") + rounded.exponent;
        let is_in_range = rounded.coefficient == BigInt::ZERO
            || highest <= EXPONENT_MAX + 34 && rounded.exponent >= EXPONENT_MIN && !is_cut;
        if is_in_range { Ok(rounded) } else { Err(NumberError::OutOfRange) }
    }
}

fn number(exact: &Exact) -> Number {
    exact.text().parse().unwrap_or_else(|error| panic!("{}: {error}", exact.text()))
}

fn exact(number: Number) -> Exact {
    Exact::read(&number.to_string())
}

/// Up to so many digits, few as often as many, around all the edges.
fn coefficient(digits_max: usize) -> impl Strategy<Value = BigInt> {
    let text = (1..=digits_max).prop_flat_map(|digits| {
        prop_oneof![
            4 => proptest::string::string_regex(&format!("-?[0-9]{{{digits}}}")).expect("a pattern"),
            1 => Just("9".repeat(digits)),
            1 => Just(format!("-{:0<digits$}", "5")),
        ]
    });
    prop_oneof![
        6 => text.prop_map(|it| it.parse().expect("digits")),
        1 => any::<i64>().prop_map(BigInt::from),
        1 => (-12_i64..=12).prop_map(BigInt::from),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)].prop_map(BigInt::from),
    ]
}

/// Numbers as people have them: every one can be read.
fn common() -> impl Strategy<Value = Exact> {
    (coefficient(DIGITS_MAX), -40_i64..=40)
        .prop_map(|(digits, exponent)| Exact::new(digits, exponent))
}

/// Numbers of which a calculation can leave the range.
fn extreme() -> impl Strategy<Value = Exact> {
    let exponent = prop_oneof![
        EXPONENT_MIN..EXPONENT_MIN + 80,
        EXPONENT_MAX - 40..=EXPONENT_MAX,
        -3200_i64..-3000,
        3000_i64..3100,
        -40_i64..40,
    ];
    let all = (coefficient(DIGITS_MAX), exponent);
    let all = all.prop_map(|(digits, exponent)| Exact::new(digits, exponent));
    // A number whose zeros were cut off may still be too high.
    all.prop_filter("in range", |it| it.kept().as_ref() == Ok(it))
}

fn calculated(result: Result<Number, NumberError>) -> Result<Exact, NumberError> {
    result.map(exact)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn sums_differences_and_products_are_those_of_whole_numbers(a in common(), b in common()) {
        let (x, y) = (number(&a), number(&b));
        prop_assert_eq!(calculated(x.checked_add(y)), a.plus(&b).kept());
        prop_assert_eq!(calculated(x.checked_sub(y)), a.minus(&b).kept());
        prop_assert_eq!(calculated(x.checked_mul(y)), a.times(&b).kept());
    }

    #[test]
    fn what_fits_34_digits_is_exact(a in coefficient(17), b in coefficient(17), places in -20_i64..=20) {
        let (a, b) = (Exact::new(a, places), Exact::new(b, -places));
        let product = a.times(&b);
        prop_assume!(digits(&product.coefficient) <= DIGITS_MAX);
        prop_assert_eq!(calculated(number(&a).checked_mul(number(&b))), Ok(product));
    }

    #[test]
    fn quotients_have_34_digits_half_to_even(a in common(), b in common()) {
        let quotient = number(&a).checked_div(number(&b));
        if b.coefficient == BigInt::ZERO {
            prop_assert_eq!(quotient, Err(NumberError::DivisionByZero));
        } else {
            prop_assert_eq!(calculated(quotient), a.over(&b).kept());
        }
    }

    #[test]
    fn a_quotient_that_ends_is_exact(a in coefficient(17), b in coefficient(17)) {
        prop_assume!(b != BigInt::ZERO);
        let (a, b) = (Exact::new(a, 0), Exact::new(b, 0));
        let product = a.times(&b);
        prop_assume!(digits(&product.coefficient) <= DIGITS_MAX);
        prop_assert_eq!(calculated(number(&product).checked_div(number(&b))), Ok(a));
    }

    #[test]
    fn results_out_of_range_are_refused(a in extreme(), b in extreme()) {
        let (x, y) = (number(&a), number(&b));
        prop_assert_eq!(calculated(x.checked_mul(y)), a.times(&b).kept());
        prop_assert_eq!(calculated(x.checked_add(y)), a.plus(&b).kept());
        if b.coefficient != BigInt::ZERO {
            prop_assert_eq!(calculated(x.checked_div(y)), a.over(&b).kept());
        }
    }

    #[test]
    fn order_is_that_of_whole_numbers(a in common(), b in common(), near in -1_i64..=1) {
        let beside = Exact::new(&a.coefficient + near, a.exponent);
        prop_assume!(digits(&beside.coefficient) <= DIGITS_MAX);
        for other in [b, beside] {
            let (x, y) = (number(&a), number(&other));
            prop_assert_eq!(x.cmp(&y), a.order(&other));
            prop_assert_eq!(x == y, a == other);
        }
    }

    #[test]
    fn numbers_print_what_they_are_and_read_back(a in prop_oneof![common(), extreme()]) {
        let read = number(&a);
        prop_assert_eq!(&exact(read), &a);
        prop_assert_eq!(read.to_string().parse(), Ok(read));
        // However many zeros are written.
        let longer = format!("{}000e{}", a.coefficient, a.exponent - 3);
        prop_assert_eq!(longer.parse(), Ok(read));
    }

    #[test]
    fn more_digits_than_are_kept_are_refused_or_rounded_on_demand(
        digits in coefficient(60), exponent in -40_i64..=40,
    ) {
        let written = Exact::new(digits, exponent);
        let rounded = written.kept().expect("it is in range");
        let read = written.text().parse::<Number>();
        if rounded == written {
            prop_assert_eq!(calculated(read), Ok(written.clone()));
        } else {
            prop_assert_eq!(read, Err(NumberError::TooManyDigits));
        }
        prop_assert_eq!(calculated(Number::parse_rounded(&written.text())), Ok(rounded));
    }
}
