//! Rules about gateways, and about what is called.

use super::Rules;
use crate::{
    dialect::Dialect,
    xml::{Node, Severity},
};

impl<'a> Rules<'a> {
    pub(super) fn check_gateway(&self, gateway: Node<'a>) {
        let incoming = self.graph.incoming(gateway).len();
        let outgoing = self.graph.outgoing(gateway).len();
        let fits = match gateway.attr("gatewayDirection") {
            Some("Converging") => incoming > 1 && outgoing <= 1,
            Some("Diverging") => incoming <= 1 && outgoing > 1,
            Some("Mixed") => incoming > 1 && outgoing > 1,
            _ => true,
        };
        if !fits {
            let message = format!(
                "{} says it is {}, but has {incoming} incoming and {outgoing} outgoing flows",
                gateway.title(),
                gateway.attr("gatewayDirection").unwrap_or_default()
            );
            self.standard("TV0450", gateway, message, "correct gatewayDirection, or the flows");
        }
        if incoming <= 1 && outgoing <= 1 {
            let message =
                format!("{} has neither several flows in nor several out", gateway.title());
            self.harmless(
                "TV0455",
                gateway,
                message,
                "it decides nothing; remove it, or add a flow",
            );
        }
        if outgoing == 0 {
            let message = format!("no sequence flow leads away from {}", gateway.title());
            if gateway.is("parallelGateway") && incoming > 1 {
                // Paths may meet where they end.
                self.standard("TV0451", gateway, message, "add one");
            } else {
                self.error("TV0451", gateway, message, "add one");
            }
        }
        self.check_fan(gateway);
        if gateway.is("eventBasedGateway") {
            self.check_event_gateway(gateway);
        }
        if gateway.is("exclusiveGateway") && outgoing > 1 {
            self.check_conditions(gateway);
        }
    }

    /// Without a condition a flow is always taken, so what is drawn after it never is. One such
    /// flow may be meant as the default; Camunda 7 refuses more.
    fn check_conditions(&self, gateway: Node<'a>) {
        let default = gateway.attr("default");
        let is_free = |it: &&Node<'a>| {
            it.child("conditionExpression").is_none() && (default.is_none() || it.id() != default)
        };
        let free: Vec<_> = self.graph.outgoing(gateway).iter().filter(is_free).collect();
        let severity = match self.dialect {
            Dialect::Camunda7 if default.is_some() || free.len() > 1 => Severity::Error,
            _ => Severity::Warning,
        };
        for flow in free {
            let message =
                format!("{} leaves {} without a condition", flow.title(), gateway.title());
            let help = "add a condition, or make it the default flow";
            self.sink.add(severity, "TV0452", *flow, flow.place(), message, help);
        }
    }
}
