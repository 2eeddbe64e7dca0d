import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { MESSAGE_LIMITS, parseMessage, type SamlMessage } from './saml-message.ts'

const inflate = promisify(inflateRaw)
const STRONG_SIGNATURE = /^http:\/\/www\.w3\.org\/2001\/04\/xmldsig-more#rsa-sha(256|384|512)$/

/** A log-out request as a query carries it. */
export interface SignedQuery {
  /** Each parameter once, so that what is read is what was signed. */
  readonly container: Record<string, string>
  /** The query as it was written, in the order in which the library looks for its parts. */
  readonly orderedQuery: string
  readonly message: SamlMessage
}

/**
 * Takes a redirected message apart before the library sees it, which takes unsigned ones for valid, unpacks without
 * limit, and reads the first of two parameters but the last one's content. Undefined for an answer, which asks nothing.
 */
export async function parseSignedQuery(query: string): Promise<SignedQuery | undefined> {
  const parameters = new Map<string, string>()
  for (const pair of query.split('&')) {
    const name = pair.split('=', 1)[0]!
    if (parameters.has(name)) throw new Error(`${name} is there twice`)
    parameters.set(name, pair)
  }
  if (!parameters.has('SAMLRequest')) {
    if (parameters.has('SAMLResponse')) return undefined
    throw new Error('there is no message')
  }
  if (parameters.has('SAMLResponse')) throw new Error('it is a request and an answer')
  const ordered = ['SAMLRequest', 'SigAlg', 'RelayState', 'Signature'].flatMap(
    (name) => parameters.get(name) ?? [],
  )
  const container = Object.fromEntries(new URLSearchParams(ordered.join('&')))
  const { SAMLRequest = '', SigAlg = '', Signature = '' } = container
  if (Signature === '' || !STRONG_SIGNATURE.test(SigAlg)) throw new Error('it is not signed, or too weakly')
  const bytes = await inflate(Buffer.from(SAMLRequest, 'base64'), {
    maxOutputLength: MESSAGE_LIMITS.maxBytes,
  })
  return { container, orderedQuery: ordered.join('&'), message: parseMessage(bytes.toString('utf8')) }
}
