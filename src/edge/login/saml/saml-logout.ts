import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { MESSAGE_LIMITS, parseMessage, type SamlMessage } from './saml-message.ts'

const inflate = promisify(inflateRaw)
const STRONG_SIGNATURE = /^http:\/\/www\.w3\.org\/2001\/04\/xmldsig-more#rsa-sha(256|384|512)$/

/** A logout request in a redirect query. */
export interface SignedQuery {
  /** Each parameter once, so that the parsed values are the signed ones. */
  readonly container: Record<string, string>
  /** The original query parameters in the order the library expects. */
  readonly orderedQuery: string
  readonly message: SamlMessage
}

/**
 * Parses a redirect message before the library sees it: the library accepts unsigned ones, inflates without limit, and
 * of two equal parameters verifies the first but reads the last. Undefined for a logout response, which requires no
 * action.
 */
export async function parseSignedQuery(query: string): Promise<SignedQuery | undefined> {
  const parameters = new Map<string, string>()
  for (const pair of query.split('&')) {
    const name = pair.split('=', 1)[0]!
    if (parameters.has(name)) throw new Error(`${name} occurs twice`)
    parameters.set(name, pair)
  }
  if (!parameters.has('SAMLRequest')) {
    if (parameters.has('SAMLResponse')) return undefined
    throw new Error('there is no message')
  }
  if (parameters.has('SAMLResponse')) throw new Error('it is both a request and a response')
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
