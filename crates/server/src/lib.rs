//! Travertine as a server: REST and gRPC over one engine.
