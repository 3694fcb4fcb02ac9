//! Sums and statistics over lists.

use travertine_value::Number;

use super::{
    super::{
        collection::List,
        temporal::{DaysDuration, YearsDuration},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("sum(list...)", sum),
    ("mean(list...)", mean),
    ("product(list...)", product),
    ("median(list...)", median),
    ("stddev(list...)", stddev),
    ("mode(list...)", mode),
];

fn numbers(list: &List) -> Result<Vec<Number>, Fault> {
    let number = |item: FeelValue| item.as_number().ok_or_else(|| wrong(&item, "numbers"));
    list.iter().map(number).collect()
}

fn some_numbers(args: &mut Args<'_, '_, '_>) -> Result<Vec<Number>, Fault> {
    let numbers = numbers(&args.gathered()?)?;
    if numbers.is_empty() { Err(Fault::argument("the list is empty")) } else { Ok(numbers) }
}

fn total(numbers: &[Number]) -> Result<Number, Fault> {
    let mut total = Number::ZERO;
    for number in numbers {
        total = total.checked_add(*number)?;
    }
    Ok(total)
}

/// Durations of one kind have a sum, too.
fn sum(args: &mut Args<'_, '_, '_>) -> Answer {
    let list = args.gathered()?;
    let out_of_range = || Fault::argument("the sum is out of range");
    match list.get(0) {
        None => Err(Fault::argument("the list is empty")),
        Some(FeelValue::DaysDuration(_)) => {
            let mut nanos = 0_i128;
            for item in list.iter() {
                let FeelValue::DaysDuration(it) = item else {
                    return Err(wrong(&item, "durations of one kind"));
                };
                nanos = nanos.checked_add(it.nanos()).ok_or_else(out_of_range)?;
            }
            DaysDuration::from_nanos(nanos).map(Into::into).ok_or_else(out_of_range)
        }
        Some(FeelValue::YearsDuration(_)) => {
            let mut months = 0_i64;
            for item in list.iter() {
                let FeelValue::YearsDuration(it) = item else {
                    return Err(wrong(&item, "durations of one kind"));
                };
                months = months.checked_add(it.months()).ok_or_else(out_of_range)?;
            }
            Ok(YearsDuration::from_months(months).into())
        }
        Some(_) => Ok(total(&numbers(&list)?)?.into()),
    }
}

fn average(numbers: &[Number]) -> Result<Number, Fault> {
    Ok(total(numbers)?.checked_div(numbers.len().into())?)
}

fn mean(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(average(&some_numbers(args)?)?.into())
}

fn product(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut product = Number::from(1);
    for number in some_numbers(args)? {
        product = product.checked_mul(number)?;
    }
    Ok(product.into())
}

fn median(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut numbers = some_numbers(args)?;
    numbers.sort_unstable();
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        return Ok(numbers[middle].into());
    }
    Ok(average(&numbers[middle - 1..=middle])?.into())
}

/// Of a sample: the squares are divided by one less than their number.
fn stddev(args: &mut Args<'_, '_, '_>) -> Answer {
    let numbers = some_numbers(args)?;
    if numbers.len() < 2 {
        return Err(Fault::argument("one number deviates from nothing"));
    }
    let average = average(&numbers)?;
    let mut squares = Number::ZERO;
    for number in &numbers {
        let distance = number.checked_sub(average)?;
        squares = squares.checked_add(distance.checked_mul(distance)?)?;
    }
    Ok(squares.checked_div((numbers.len() - 1).into())?.sqrt()?.into())
}

/// The most frequent numbers, lowest first.
fn mode(args: &mut Args<'_, '_, '_>) -> Answer {
    let mut numbers = numbers(&args.gathered()?)?;
    numbers.sort_unstable();
    let runs: Vec<_> = numbers.chunk_by(|a, b| a == b).collect();
    let most = runs.iter().map(|it| it.len()).max().unwrap_or(0);
    Ok(runs.iter().filter(|it| it.len() == most).map(|it| FeelValue::from(it[0])).collect())
}
