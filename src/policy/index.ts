/**
 * Policy: the languages of Adit. Uses `base` and the names of providers in `resources`. `cel/` is CEL, the language of expressions; begin with `cel/compile.ts`:
 * an expression is tokenized and parsed (`tokens.ts`, `parse.ts`, `macros.ts`), checked against an `Environment`
 * (`check.ts`, `assign.ts`), compiled to closures (`closures.ts`) and then evaluated as often as needed, each time within a
 * budget. `cel/library/` has the functions, one file a family. `condition.ts` compiles what has to be true or false.
 *
 * The other files are the language of traffic policies; begin with `validate.ts`. A text becomes phases and rules
 * (`document.ts`), whose actions (`actions/`, one declaration each) read their configuration (`config.ts`) with `${}`
 * compiled (`template.ts`). Expressions read `variables/` and call `functions/`, both through an `Activation`.
 * `evaluate.ts` runs rules. `ip-data/` reads the files that facts about addresses come from. What actions do to traffic is in `src/edge/policy`.
 */

export type { ConfigOf } from './actions/define.ts'
export type { ActionOf, ActionType } from './actions/index.ts'
export type { VarValue } from './actions/set-vars.ts'
export type {
  ActionResult,
  Activation,
  ConnectionSource,
  EndpointSource,
  PodSource,
  RequestSource,
  ResponseSource,
  RetrySource,
  TlsSource,
} from './activation.ts'
export { compileCondition } from './condition.ts'
export type { PatternTemplate } from './config.ts'
export { findCookieDomainMistake, mayHaveCookieDomain, type OwnsDomain } from './cookie-domains.ts'
export { type ActionStep, type CompiledRule, runRules, UndecidedRule } from './evaluate.ts'
export {
  compileIpFile,
  type FactKind,
  factKindsOf,
  type IpData,
  type IpFacts,
  type IpLocation,
  NO_IP_DATA,
  openIpData,
} from './ip-data/ip-data.ts'
export { issueText, PolicyError } from './issue.ts'
export { describeLanguage, type PolicyLanguage } from './language.ts'
export { type Attachment, PHASES, type PhaseName, type PolicyProtocol } from './phases.ts'
export { listRequiredTokens } from './provider-tokens.ts'
export type { Template } from './template.ts'
export {
  type Policy,
  type PolicyAction,
  type PolicyRule,
  readPolicy,
  reviewPolicy,
  unknownIpPolicy,
} from './validate.ts'
export { toJson, valueText } from './value-text.ts'
export { readTls } from './variables/conn.ts'
export { requestUrl } from './variables/req.ts'
export { urlText } from './variables/url.ts'
