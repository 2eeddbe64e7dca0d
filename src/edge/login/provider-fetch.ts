import type { Outbound, OutboundRequest } from '../../base/outbound.ts'
import { ProviderUnavailable } from './sign-in.ts'

/** How long a visitor waits for all answers of a provider together. */
const MAX_WAIT_MS = 15_000

export type Fetch = (url: string, init?: OutboundRequest) => Promise<Response>

/**
 * Calls a provider for one sign-in. All calls share one deadline, and what does not answer, answers too much or says that
 * it is broken is `ProviderUnavailable`.
 */
export function providerFetch(outbound: Pick<Outbound, 'fetch'>, waitMs = MAX_WAIT_MS): Fetch {
  const signal = AbortSignal.timeout(waitMs)
  return async (url, init) => {
    let response: Response
    try {
      response = await outbound.fetch(url, { ...init, signal })
    } catch (error) {
      throw new ProviderUnavailable({ cause: error })
    }
    if (response.status >= 500)
      throw new ProviderUnavailable({ cause: new Error(`it answered ${response.status}`) })
    return response
  }
}
