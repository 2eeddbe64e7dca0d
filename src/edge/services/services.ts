import type { IpData } from '../../policy/index.ts'
import type { BodyReplacer } from './body-replacer.ts'
import type { KeySets } from './key-sets.ts'
import type { Logins } from './logins.ts'
import type { OutboundCalls } from './outbound-calls.ts'
import type { TakeRateLease } from './rate-lease.ts'
import type { SigningKeys } from './sns-keys.ts'

/**
 * What modules and actions use beyond their settings, handed on whole: a new service is declared here and created in `edge.ts`.
 * What needs one that this edge does not have denies all traffic (P36).
 */
export interface EdgeServices {
  /** Signs visitors in. */
  readonly logins: Logins | undefined
  /** Published keys of webhook senders. */
  readonly signingKeys: SigningKeys | undefined
  /** The keys of token issuers. */
  readonly keySets: KeySets | undefined
  /** What is known about addresses. */
  readonly ipData: IpData
  /** Calls other servers. */
  readonly outboundCalls: OutboundCalls | undefined
  /** Replaces text in bodies. */
  readonly bodyReplacer: BodyReplacer
  /** Set where several workers count rate limits together; undefined where this process counts alone. */
  readonly takeRateLease: TakeRateLease | undefined
}
