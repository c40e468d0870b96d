import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/** A memory: a number is an id, a text is a key. */
export type Reference = number | string;

/** What every call takes besides its own options. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds that the call may take with its repetitions; 0 for no limit. */
  readonly timeout?: number;
}

/** The time to use instead of the database's clock, in ISO 8601. */
export interface AtTime {
  readonly now?: string;
}

export type Access = Schemas["Access"];
export type AccessKind = NonNullable<Access["kind"]>;
export type Change = Schemas["Change"];
export type ChangeKind = Change["kind"];
export type Changes = Schemas["Changes"];
export type Check = Schemas["Check"];
export type ContextBlock = Schemas["ContextBlock"];
export type ContextOptions = Omit<Schemas["ContextBody"], "query">;
export type ContextSource = Schemas["ContextSource"];
export type DedupeCluster = Schemas["DedupeCluster"];
export type DedupePlan = Schemas["DedupePlan"];
export type DedupeRequest = Schemas["DedupeRequest"];
export type Draft = Schemas["Draft"];
export type DraftFields = Omit<Draft, "body">;
export type DraftLink = Schemas["DraftLink"];
export type Erasure = Schemas["Erasure"];
export type ErasurePlan = Schemas["ErasurePlan"];
export type ErasureSignature = Schemas["ErasureSignature"];
export type ErasureSummary = Schemas["ErasureSummary"];
export type FieldDifference = Schemas["FieldDifference"];
export type FieldProblem = Schemas["FieldProblem"];
export type Hit = Schemas["Hit"];
export type Import = Schemas["Import"];
export type ImportProblem = Schemas["Problem"];
export type ImportReport = Schemas["ImportReport"];
export type JobRun = Schemas["JobRun"];
export type JobStatus = Schemas["JobStatus"];
export type Layer = Schemas["Layer"];
export type LayerFields = Schemas["SetLayerBody"];
export type LayerStatus = Schemas["LayerStatus"];
export type Link = Schemas["Link"];
export type ListedMemory = Schemas["ListedMemory"];
export type Miss = Schemas["Miss"];
export type MissOptions = Omit<Schemas["MissBody"], "query" | "memory">;
export type NewLink = Schemas["LinkBody"];
export type Experiment = Schemas["Experiment"];
export type Problem = Schemas["ProblemDetails"];
export type Plan = PrunePlan | DedupePlan | Schemas["RedactPlan"];
export type PlanOutcome = Schemas["PlanOutcome"];
export type ImportSummary = Schemas["ImportSummary"];
export type ImportUndone = Schemas["ImportUndone"];
export type PlanSummary = Schemas["PlanSummary"];
export type PlanUndone = Schemas["PlanUndone"];
export type PrunePlan = Schemas["PrunePlan"];
export type PruneRequest = Schemas["PruneRequest"];
export type Quality = Schemas["Quality"];
export type Readiness = Schemas["Readiness"];
export type Remembered = Schemas["Remembered"];
export type Replay = Schemas["Replay"];
export type ReplayOptions = Schemas["ReplayBody"];
export type SearchOptions = Omit<Schemas["SearchRequest"], "query">;
export type SearchResult = Schemas["SearchResult"];
export type Setting = Schemas["Setting"];
export type Similar = Schemas["Similar"];
export type Status = Schemas["Status"];
export type StoredMemory = Schemas["StoredMemory"];
export type Version = Schemas["Version"];
export type VitalityTerms = Schemas["VitalityTerms"];
