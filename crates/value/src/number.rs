//! Exact decimal numbers of 34 significant digits.
//!
//! Money and quantities must come out as they went in, so numbers are decimal (IEEE 754-2008
//! decimal128) and not binary. Whole numbers that fit an `i64` take a fast path. A number that would
//! have to be rounded when it is read is refused; only the result of a calculation is rounded, half
//! to even, to 34 digits.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use dec::{Context, Decimal, Decimal128};

type Arithmetic = Context<Decimal128>;

/// Room for 42 digits, for results on the way.
type Wide = Decimal<14>;

/// An exact decimal number. Equality, order and hash go by value: `1.0` is `1`.
///
/// ```
/// # use travertine_value::Number;
/// let price: Number = "0.10".parse()?;
/// assert_eq!(price.checked_add("0.20".parse()?)?.to_string(), "0.3");
/// assert_eq!("1.0".parse::<Number>()?, Number::from(1));
/// # Ok::<(), travertine_value::NumberError>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

/// Every number has exactly one representation, so that equality is that of the parts: whole numbers
/// that fit are always `Whole`; a `Decimal` is finite, has no trailing zeros and is never `-0`.
#[derive(Clone, Copy, PartialEq)]
enum Repr {
    Whole(i64),
    Decimal(Decimal128),
}

/// Why there is no such number.
///
/// ```
/// # use travertine_value::{Number, NumberError};
/// assert_eq!("1,5".parse::<Number>(), Err(NumberError::Malformed));
/// assert_eq!(Number::from(1).checked_div(Number::ZERO), Err(NumberError::DivisionByZero));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// The text does not spell a number.
    Malformed,
    /// It has more digits than can be kept.
    TooManyDigits,
    /// It is too large, or too close to zero.
    OutOfRange,
    /// Something was divided by zero.
    DivisionByZero,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a number",
            Self::TooManyDigits => "a number has at most 34 significant digits",
            Self::OutOfRange => "the number is out of range",
            Self::DivisionByZero => "division by zero",
        })
    }
}

impl std::error::Error for NumberError {}

/// Which neighbour a number is rounded to.
///
/// ```
/// # use travertine_value::{Number, Rounding};
/// let half: Number = "2.5".parse()?;
/// assert_eq!(half.round(0, Rounding::HalfEven)?, 2.into());
/// assert_eq!(half.round(0, Rounding::HalfUp)?, 3.into());
/// assert_eq!(half.negated().round(0, Rounding::Floor)?, (-3).into());
/// # Ok::<(), travertine_value::NumberError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The nearest; of two equally near, the even one.
    HalfEven,
    /// The nearest; of two equally near, the one farther from zero.
    HalfUp,
    /// The nearest; of two equally near, the one closer to zero.
    HalfDown,
    /// The one farther from zero.
    Up,
    /// The one closer to zero.
    Down,
    /// The lower one.
    Floor,
    /// The higher one.
    Ceiling,
}

impl Number {
    /// Nought.
    pub const ZERO: Self = Self(Repr::Whole(0));

    /// The number as a whole `i64`, where it is one.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("12e2".parse::<Number>()?.to_i64(), Some(1_200));
    /// assert_eq!("1.5".parse::<Number>()?.to_i64(), None);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn to_i64(self) -> Option<i64> {
        match self.0 {
            Repr::Whole(whole) => Some(whole),
            Repr::Decimal(_) => None,
        }
    }

    /// The number as a whole `i128`, where it is one that fits.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("-1e20".parse::<Number>()?.to_i128(), Some(-100_000_000_000_000_000_000));
    /// assert_eq!("1e40".parse::<Number>()?.to_i128(), None);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn to_i128(self) -> Option<i128> {
        match self.0 {
            Repr::Whole(whole) => Some(whole.into()),
            Repr::Decimal(decimal) => {
                let exponent = u32::try_from(decimal.exponent()).ok()?;
                decimal.coefficient().checked_mul(10_i128.checked_pow(exponent)?)
            }
        }
    }

    /// The number as a whole `u128`, where it is one that fits.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("1e20".parse::<Number>()?.to_u128(), Some(100_000_000_000_000_000_000));
    /// assert_eq!(Number::from(-1).to_u128(), None);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn to_u128(self) -> Option<u128> {
        match self.0 {
            Repr::Whole(whole) => whole.try_into().ok(),
            Repr::Decimal(decimal) => {
                let exponent = u32::try_from(decimal.exponent()).ok()?;
                let coefficient = u128::try_from(decimal.coefficient()).ok()?;
                coefficient.checked_mul(10_u128.checked_pow(exponent)?)
            }
        }
    }

    /// The number that a text spells, rounded to 34 digits where it has more.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// let third = Number::parse_rounded("0.333333333333333333333333333333333333")?;
    /// assert_eq!(third.to_string(), "0.3333333333333333333333333333333333");
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn parse_rounded(text: &str) -> Result<Self, NumberError> {
        match text.parse() {
            Err(NumberError::TooManyDigits) => {
                let decimal = Arithmetic::default().parse(text);
                Self::canonical(decimal.map_err(|_| NumberError::Malformed)?)
            }
            other => other,
        }
    }

    /// The nearest double.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("0.5".parse::<Number>()?.to_f64(), 0.5);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn to_f64(self) -> f64 {
        match self.0 {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the caller asks for the nearest double"
            )]
            Repr::Whole(whole) => whole as f64,
            Repr::Decimal(decimal) => {
                decimal.to_string().parse().expect("every decimal text is a double")
            }
        }
    }

    /// The nearest single. The way through a double would round twice.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("0.5".parse::<Number>()?.to_f32(), 0.5);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn to_f32(self) -> f32 {
        match self.0 {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the caller asks for the nearest single"
            )]
            Repr::Whole(whole) => whole as f32,
            Repr::Decimal(decimal) => {
                decimal.to_string().parse().expect("every decimal text is a single")
            }
        }
    }

    /// The number that the shortest text of a single spells; `None` for NaN and the infinities.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from_f32(0.1), "0.1".parse().ok());
    /// assert_eq!(Number::from_f32(f32::NAN), None);
    /// ```
    pub fn from_f32(single: f32) -> Option<Self> {
        if single.fract() == 0.0 && single.abs() < 16_777_216.0 {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^24")]
            return Some(Self(Repr::Whole(single as i64)));
        }
        single.is_finite().then(|| {
            format!("{single:e}").parse().expect("9 digits and an exponent of a single fit")
        })
    }

    /// The number that the shortest text of a double spells; `None` for NaN and the infinities.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from_f64(0.1), "0.1".parse().ok());
    /// assert_eq!(Number::from_f64(f64::INFINITY), None);
    /// ```
    pub fn from_f64(double: f64) -> Option<Self> {
        if double.fract() == 0.0 && double.abs() < 9_007_199_254_740_992.0 {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return Some(Self(Repr::Whole(double as i64)));
        }
        double.is_finite().then(|| {
            format!("{double:e}").parse().expect("17 digits and an exponent of a double fit")
        })
    }

    /// Whether it has no fraction.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert!("1.0".parse::<Number>()?.is_whole());
    /// assert!(!"1.5".parse::<Number>()?.is_whole());
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn is_whole(self) -> bool {
        match self.0 {
            Repr::Whole(_) => true,
            Repr::Decimal(decimal) => decimal.exponent() >= 0,
        }
    }

    /// Whether it is less than nought.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert!(Number::from(-1).is_negative());
    /// assert!(!Number::ZERO.is_negative());
    /// ```
    pub fn is_negative(self) -> bool {
        self < Self::ZERO
    }

    /// Its distance from nought.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from(-2).abs(), 2.into());
    /// ```
    #[must_use]
    pub fn abs(self) -> Self {
        if self.is_negative() { self.negated() } else { self }
    }

    /// The number with the other sign.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from(2).negated(), (-2).into());
    /// ```
    #[must_use]
    pub fn negated(self) -> Self {
        match self.0 {
            Repr::Whole(whole) if whole != i64::MIN => Self(Repr::Whole(-whole)),
            Repr::Whole(_) | Repr::Decimal(_) => Self::canonical(-self.decimal())
                .expect("the range is the same on both sides of nought"),
        }
    }

    /// The sum.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("0.1".parse::<Number>()?.checked_add("0.2".parse()?)?, "0.3".parse()?);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn checked_add(self, other: Self) -> Result<Self, NumberError> {
        self.calculate(other, i64::checked_add, Arithmetic::add)
    }

    /// The difference.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("0.3".parse::<Number>()?.checked_sub("0.1".parse()?)?, "0.2".parse()?);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberError> {
        self.calculate(other, i64::checked_sub, Arithmetic::sub)
    }

    /// The product.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("1.1".parse::<Number>()?.checked_mul("1.1".parse()?)?, "1.21".parse()?);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn checked_mul(self, other: Self) -> Result<Self, NumberError> {
        self.calculate(other, i64::checked_mul, Arithmetic::mul)
    }

    /// The quotient, rounded to 34 digits where it does not end.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from(1).checked_div(8.into())?, "0.125".parse()?);
    /// assert!(Number::from(1).checked_div(0.into()).is_err());
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn checked_div(self, other: Self) -> Result<Self, NumberError> {
        let exactly = |a: i64, b: i64| if a.checked_rem(b)? == 0 { a.checked_div(b) } else { None };
        self.calculate(other, exactly, Arithmetic::div)
    }

    /// The remainder of the division towards nought: it has the sign of `self`.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from(-7).checked_rem(3.into())?, (-1).into());
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn checked_rem(self, other: Self) -> Result<Self, NumberError> {
        self.calculate(other, i64::checked_rem, Arithmetic::rem)
    }

    /// The nearest number with at most `places` digits after the point; with negative `places`, the
    /// nearest multiple of a power of ten.
    ///
    /// ```
    /// # use travertine_value::{Number, Rounding};
    /// assert_eq!("1.125".parse::<Number>()?.round(2, Rounding::HalfUp)?, "1.13".parse()?);
    /// assert_eq!(Number::from(1_250).round(-2, Rounding::HalfEven)?, 1_200.into());
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn round(self, places: i32, rounding: Rounding) -> Result<Self, NumberError> {
        let decimal = match self.0 {
            Repr::Whole(_) if places >= 0 => return Ok(self),
            Repr::Whole(_) | Repr::Decimal(_) => self.decimal(),
        };
        if decimal.exponent() >= places.saturating_neg() {
            return Ok(self);
        }
        let mut context = Arithmetic::default();
        context.set_rounding(match rounding {
            Rounding::HalfEven => dec::Rounding::HalfEven,
            Rounding::HalfUp => dec::Rounding::HalfUp,
            Rounding::HalfDown => dec::Rounding::HalfDown,
            Rounding::Up => dec::Rounding::Up,
            Rounding::Down => dec::Rounding::Down,
            Rounding::Floor => dec::Rounding::Floor,
            Rounding::Ceiling => dec::Rounding::Ceiling,
        });
        let mut quantum = Decimal128::ONE;
        // Farther out the quantum leaves the range, and quantizing says so.
        context.set_exponent(&mut quantum, places.saturating_neg().clamp(-6176, 6111));
        Self::canonical(context.quantize(decimal, quantum))
    }

    /// The power.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!("1.5".parse::<Number>()?.pow(3.into())?, "3.375".parse()?);
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn pow(self, exponent: Self) -> Result<Self, NumberError> {
        if let (Some(base), Some(exponent)) = (self.to_i64(), exponent.to_i64())
            && let Ok(exponent) = u32::try_from(exponent)
            && let Some(whole) = base.checked_pow(exponent)
        {
            return Ok(whole.into());
        }
        self.wide(|context, wide| context.pow(wide, &Wide::from(exponent.decimal())))
    }

    /// The square root.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert_eq!(Number::from(16).sqrt()?, 4.into());
    /// assert!(Number::from(-1).sqrt().is_err());
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn sqrt(self) -> Result<Self, NumberError> {
        self.wide(Context::<Wide>::sqrt)
    }

    /// Euler's number to this power.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert!(Number::from(1).exp()?.to_string().starts_with("2.71828"));
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn exp(self) -> Result<Self, NumberError> {
        self.wide(Context::<Wide>::exp)
    }

    /// The natural logarithm.
    ///
    /// ```
    /// # use travertine_value::Number;
    /// assert!(Number::from(10).ln()?.to_string().starts_with("2.302585"));
    /// # Ok::<(), travertine_value::NumberError>(())
    /// ```
    pub fn ln(self) -> Result<Self, NumberError> {
        self.wide(Context::<Wide>::ln)
    }

    /// Calculates with a few digits more than are kept, so that rounding comes last.
    fn wide(self, calculate: impl Fn(&mut Context<Wide>, &mut Wide)) -> Result<Self, NumberError> {
        let mut context = Context::<Wide>::default();
        context.set_precision(40).expect("a wide number has 42 digits");
        // The library's own bounds for its mathematical functions.
        context.set_max_exponent(999_999).expect("within bounds");
        context.set_min_exponent(-999_999).expect("within bounds");
        context.set_rounding(dec::Rounding::HalfEven);
        let mut wide = Wide::from(self.decimal());
        calculate(&mut context, &mut wide);
        if context.status().invalid_operation() || !wide.is_finite() {
            return Err(NumberError::OutOfRange);
        }
        let mut context = Arithmetic::default();
        let narrow = context.from_decimal(&wide);
        Self::canonical(narrow)
    }

    /// Tries the whole numbers first: they are almost all the numbers there are.
    fn calculate(
        self,
        other: Self,
        whole: impl Fn(i64, i64) -> Option<i64>,
        decimal: impl Fn(&mut Arithmetic, Decimal128, Decimal128) -> Decimal128,
    ) -> Result<Self, NumberError> {
        if let (Repr::Whole(a), Repr::Whole(b)) = (self.0, other.0)
            && let Some(result) = whole(a, b)
        {
            return Ok(Self(Repr::Whole(result)));
        }
        let mut context = Arithmetic::default();
        let result = decimal(&mut context, self.decimal(), other.decimal());
        let status = context.status();
        if status.division_by_zero() || status.division_undefined() {
            Err(NumberError::DivisionByZero)
        } else if status.overflow() || status.underflow() {
            Err(NumberError::OutOfRange)
        } else if status.invalid_operation() {
            // A remainder by nought is only an "invalid operation" to the library.
            Err(if other == Self::ZERO {
                NumberError::DivisionByZero
            } else {
                NumberError::OutOfRange
            })
        } else {
            Self::canonical(result)
        }
    }

    /// The whole number of this sign and magnitude.
    fn from_magnitude(negative: bool, mut magnitude: u128) -> Result<Self, NumberError> {
        const TOO_LARGE: u128 = 10_u128.pow(34);
        let mut exponent = 0;
        while magnitude >= TOO_LARGE {
            if !magnitude.is_multiple_of(10) {
                return Err(NumberError::TooManyDigits);
            }
            magnitude /= 10;
            exponent += 1;
        }
        let mut context = Arithmetic::default();
        let mut decimal = context.from_u128(magnitude);
        context.set_exponent(&mut decimal, exponent);
        Self::canonical(if negative { -decimal } else { decimal })
    }

    fn decimal(self) -> Decimal128 {
        match self.0 {
            Repr::Whole(whole) => whole.into(),
            Repr::Decimal(decimal) => decimal,
        }
    }

    /// The one representation of this decimal.
    fn canonical(decimal: Decimal128) -> Result<Self, NumberError> {
        if !decimal.is_finite() {
            return Err(NumberError::OutOfRange);
        }
        if decimal.is_zero() {
            return Ok(Self::ZERO);
        }
        let reduced = Arithmetic::default().reduce(decimal);
        let exponent = reduced.exponent();
        if (0..=18).contains(&exponent)
            && reduced.digits() <= 19
            && let Some(scaled) =
                reduced.coefficient().checked_mul(10_i128.pow(exponent.cast_unsigned()))
            && let Ok(whole) = i64::try_from(scaled)
        {
            return Ok(Self(Repr::Whole(whole)));
        }
        Ok(Self(Repr::Decimal(reduced)))
    }
}

impl FromStr for Number {
    type Err = NumberError;

    /// Reads digits with an optional sign, point and exponent.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        if !is_spelled_as_number(text) {
            return Err(NumberError::Malformed);
        }
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(whole.into());
        }
        let mut context = Arithmetic::default();
        let decimal = context.parse(text).map_err(|_| NumberError::Malformed)?;
        let status = context.status();
        if status.overflow() || status.underflow() {
            Err(NumberError::OutOfRange)
        } else if status.inexact() {
            Err(NumberError::TooManyDigits)
        } else {
            Self::canonical(decimal)
        }
    }
}

/// The library also reads `NaN`, `Infinity` and `+1`; we do not.
fn is_spelled_as_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|it| it.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && fraction.is_none_or(|it| !it.is_empty() && digits(it))
        && !(whole.is_empty() && fraction.is_none())
        && exponent.is_none_or(|it| {
            let it = it.strip_prefix(['+', '-']).unwrap_or(it);
            !it.is_empty() && digits(it)
        })
}

impl fmt::Display for Number {
    /// All digits, without exponent, so that it reads back as the same number anywhere.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = match self.0 {
            Repr::Whole(whole) => return write!(f, "{whole}"),
            Repr::Decimal(decimal) => decimal,
        };
        let digits = decimal.coefficient().unsigned_abs().to_string();
        let exponent = decimal.exponent();
        let shift = usize::try_from(exponent.unsigned_abs()).expect("an exponent is small");
        if decimal.is_negative() {
            f.write_str("-")?;
        }
        if exponent >= 0 {
            write!(f, "{digits}{:0<shift$}", "")
        } else if shift < digits.len() {
            let (whole, fraction) = digits.split_at(digits.len() - shift);
            write!(f, "{whole}.{fraction}")
        } else {
            write!(f, "0.{digits:0>shift$}")
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Eq for Number {}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Repr::Whole(a), Repr::Whole(b)) => a.cmp(&b),
            (Repr::Whole(_) | Repr::Decimal(_), Repr::Whole(_) | Repr::Decimal(_)) => self
                .decimal()
                .partial_cmp(&other.decimal())
                .expect("finite numbers are always comparable"),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Repr::Whole(whole) => whole.hash(state),
            Repr::Decimal(decimal) => decimal.to_le_bytes().hash(state),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(Repr::Whole(value))
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        i64::from(value).into()
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        i64::from(value).into()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(whole) => whole.into(),
            Err(_) => Self::canonical(value.into()).expect("every u64 is a number"),
        }
    }
}

impl TryFrom<i128> for Number {
    type Error = NumberError;

    fn try_from(value: i128) -> Result<Self, NumberError> {
        match i64::try_from(value) {
            Ok(whole) => Ok(whole.into()),
            Err(_) => Self::from_magnitude(value < 0, value.unsigned_abs()),
        }
    }
}

impl TryFrom<u128> for Number {
    type Error = NumberError;

    fn try_from(value: u128) -> Result<Self, NumberError> {
        match i64::try_from(value) {
            Ok(whole) => Ok(whole.into()),
            Err(_) => Self::from_magnitude(false, value),
        }
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        u64::try_from(value).expect("a usize has at most 64 bits").into()
    }
}

#[cfg(test)]
mod tests;
