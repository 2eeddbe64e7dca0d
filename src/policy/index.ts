/**
 * The language of traffic policies. Begin with `validate.ts`: a text becomes phases and rules (`document.ts`), whose
 * actions (`actions/`, one declaration each) read their configuration (`config.ts`) with `${}` compiled (`template.ts`).
 * Expressions (`src/cel`) read `variables/` and call `functions/`, both through an `Activation`. `evaluate.ts` runs
 * rules. `ip-data/` reads the files that facts about addresses come from. What actions do to traffic is in
 * `src/edge/policy`.
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
export type { PatternTemplate } from './config.ts'
export { findCookieDomainMistake, mayHaveCookieDomain, type OwnsDomain } from './cookie-domains.ts'
export { policyErrors } from './error-codes.ts'
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
