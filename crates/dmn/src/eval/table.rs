//! Decision tables.

use travertine_lang::feel::{FeelValue, List};
use travertine_value::{Limit, Name};

use super::{Run, Valued};
use crate::{
    logic::{Hit, Input, Output, Rule, Spot, Table},
    result::{EvaluatedColumn, EvaluatedTable, MatchedRule},
    scope::Scope,
    show,
};

/// What a rule that matches gives.
#[derive(Clone, Debug)]
struct Match {
    /// From 0.
    rule: usize,
    outputs: Vec<FeelValue>,
}

impl Run<'_, '_> {
    pub(super) fn table(&mut self, table: &Table, scope: &Scope, spot: &Spot) -> Valued {
        let mut inputs = Vec::with_capacity(table.inputs.len());
        for input in &table.inputs {
            match self.table_input(input, scope)? {
                Some(value) => inputs.push(value),
                None => return Ok(FeelValue::Null),
            }
        }
        let mut matches = Vec::new();
        for (index, rule) in table.rules.iter().enumerate() {
            self.session.charge(1)?;
            if self.is_match(rule, &inputs, scope)? {
                matches.push(Match { rule: index, outputs: self.outputs(table, rule, scope)? });
                if table.hit == Hit::First {
                    break;
                }
            }
        }
        if matches!(table.hit, Hit::Priority | Hit::OutputOrder) {
            matches = self.in_order_of_outputs(table, matches, scope)?;
        }
        if table.hit == Hit::Priority {
            matches.truncate(1);
        }
        self.note(table, &inputs, &matches);
        let Some(first) = matches.first() else { return self.no_match(table, scope, spot) };
        let outputs = &table.outputs;
        Ok(match table.hit {
            Hit::Unique if matches.len() > 1 => {
                self.null(spot, format!("{} match, but only one may", rules(&matches)))
            }
            Hit::Any if matches.iter().any(|it| it.outputs != first.outputs) => {
                self.null(spot, format!("{} match, but with different outputs", rules(&matches)))
            }
            Hit::Unique | Hit::Any | Hit::Priority | Hit::First => result(outputs, &first.outputs),
            Hit::RuleOrder | Hit::OutputOrder | Hit::Collect => {
                matches.iter().map(|it| result(outputs, &it.outputs)).collect()
            }
            Hit::Count => matches.len().into(),
            Hit::Sum | Hit::Min | Hit::Max => self.aggregate(table, &matches)?,
        })
    }

    /// The value of an input; `None` where it is not one of those allowed.
    fn table_input(&mut self, input: &Input, scope: &Scope) -> Result<Option<FeelValue>, Limit> {
        let record = &self.world.record;
        let spot = &input.expression.spot;
        let value = input.expression.evaluate(scope, self.session, record)?;
        let what = || format!("the input '{}'", input.label);
        let value = self.coerce(input.of, value, Some(spot), what)?;
        let Some(allowed) = &input.allowed else { return Ok(Some(value)) };
        if value.is_null() || allowed.pass(&value, scope, self.session, record)? {
            return Ok(Some(value));
        }
        let (label, value) = (&input.label, show::short(&value));
        let allowed = allowed.source().trim();
        let message = format!("the input '{label}' is {value}, which is not allowed: {allowed}");
        record.problem(Some(spot), message, self.session);
        Ok(None)
    }

    fn is_match(
        &mut self,
        rule: &Rule,
        inputs: &[FeelValue],
        scope: &Scope,
    ) -> Result<bool, Limit> {
        for (tests, value) in rule.tests.iter().zip(inputs) {
            if let Some(tests) = tests
                && !tests.pass(value, scope, self.session, &self.world.record)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn outputs(
        &mut self,
        table: &Table,
        rule: &Rule,
        scope: &Scope,
    ) -> Result<Vec<FeelValue>, Limit> {
        let mut values = Vec::with_capacity(table.outputs.len());
        for (output, text) in table.outputs.iter().zip(&rule.outputs) {
            let Some(text) = text else {
                values.push(FeelValue::Null);
                continue;
            };
            let value = text.evaluate(scope, self.session, &self.world.record)?;
            let what = || format!("the output '{}'", output.name);
            values.push(self.coerce(output.of, value, Some(&text.spot), what)?);
        }
        Ok(values)
    }

    /// Most important first, by the first output, then by the second, and so on.
    fn in_order_of_outputs(
        &mut self,
        table: &Table,
        matches: Vec<Match>,
        scope: &Scope,
    ) -> Result<Vec<Match>, Limit> {
        let mut ranked = Vec::with_capacity(matches.len());
        for it in matches {
            let mut ranks = Vec::with_capacity(table.outputs.len());
            for (output, value) in table.outputs.iter().zip(&it.outputs) {
                ranks.push(self.rank(output, value, scope)?);
            }
            ranked.push((ranks, it));
        }
        ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(ranked.into_iter().map(|(_, it)| it).collect())
    }

    /// Where a value stands among those allowed. What is not allowed comes last.
    fn rank(&mut self, output: &Output, value: &FeelValue, scope: &Scope) -> Result<usize, Limit> {
        for (rank, tests) in output.allowed.iter().enumerate() {
            if tests.pass(value, scope, self.session, &self.world.record)? {
                return Ok(rank);
            }
        }
        Ok(output.allowed.len())
    }

    fn no_match(&mut self, table: &Table, scope: &Scope, spot: &Spot) -> Valued {
        if table.outputs.iter().any(|it| it.default.is_some()) {
            let mut values = Vec::with_capacity(table.outputs.len());
            for output in &table.outputs {
                values.push(match &output.default {
                    Some(text) => text.evaluate(scope, self.session, &self.world.record)?,
                    None => FeelValue::Null,
                });
            }
            return Ok(result(&table.outputs, &values));
        }
        Ok(match table.hit {
            Hit::Count => 0_usize.into(),
            Hit::RuleOrder | Hit::OutputOrder | Hit::Collect => Vec::new().into(),
            Hit::Unique
            | Hit::Any
            | Hit::Priority
            | Hit::First
            | Hit::Sum
            | Hit::Min
            | Hit::Max => self.null(spot, "no rule matches"),
        })
    }

    /// Of each output, all values together.
    fn aggregate(&mut self, table: &Table, matches: &[Match]) -> Valued {
        let mut values = Vec::with_capacity(table.outputs.len());
        for column in 0..table.outputs.len() {
            let of_column = |it: &Match| it.outputs.get(column).cloned().unwrap_or_default();
            let list: List = matches.iter().map(of_column).collect();
            let scope = Scope::default().with_one(&Name::from("values"), list.into());
            let helpers = &self.world.model.helpers;
            let function = match table.hit {
                Hit::Min => &helpers.min,
                Hit::Max => &helpers.max,
                Hit::Sum => &helpers.sum,
                Hit::Unique
                | Hit::Any
                | Hit::Priority
                | Hit::First
                | Hit::RuleOrder
                | Hit::OutputOrder
                | Hit::Collect
                | Hit::Count => unreachable!("these do not aggregate values"),
            };
            values.push(function.evaluate_in(&scope, self.session)?);
        }
        Ok(result(&table.outputs, &values))
    }

    fn note(&self, table: &Table, inputs: &[FeelValue], matches: &[Match]) {
        let rule = |it: &Match| MatchedRule {
            id: table.rules.get(it.rule).and_then(|it| it.id.clone()),
            number: it.rule + 1,
            outputs: columns(table.outputs.iter().map(|it| (&it.id, &it.name)), &it.outputs),
        };
        self.world.record.table(EvaluatedTable {
            inputs: columns(table.inputs.iter().map(|it| (&it.id, &it.label)), inputs),
            rules: matches.iter().map(rule).collect(),
        });
    }
}

fn columns<'n>(
    heads: impl Iterator<Item = (&'n Option<Name>, &'n Name)>,
    values: &[FeelValue],
) -> Vec<EvaluatedColumn> {
    let column = |((id, name), value): ((&Option<Name>, &Name), &FeelValue)| EvaluatedColumn {
        id: id.clone(),
        name: Name::clone(name),
        value: value.clone(),
    };
    heads.zip(values).map(column).collect()
}

fn named<'n>(
    names: impl Iterator<Item = &'n Name>,
    values: &[FeelValue],
) -> Vec<(Name, FeelValue)> {
    names.map(Name::clone).zip(values.iter().cloned()).collect()
}

/// A single output is the result itself; several are a context.
fn result(outputs: &[Output], values: &[FeelValue]) -> FeelValue {
    if let ([_], [value]) = (outputs, values) {
        return value.clone();
    }
    let entries = named(outputs.iter().map(|it| &it.name), values);
    FeelValue::Context(entries.into_iter().collect())
}

/// The rules by their numbers: "rules 1, 3 and 4".
fn rules(matches: &[Match]) -> String {
    let numbers: Vec<_> = matches.iter().map(|it| (it.rule + 1).to_string()).collect();
    match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("rules {} and {last}", rest.join(", ")),
        _ => format!("rule {}", numbers.concat()),
    }
}
