import type { Outbound, OutboundRequest } from '../../../base/outbound/outbound.ts'
import { SignInError } from '../sign-in.ts'
import { toCallFailure } from './provider-errors.ts'

/** How long a visitor waits for all provider requests together. */
export const PROVIDER_TIMEOUT_MS = 15_000

export type ProviderFetch = (url: string, init?: OutboundRequest) => Promise<Response>

/** Calls a provider. Timeouts, oversized responses, 429 and 5xx become `SignInError`. */
export function createProviderFetch(outbound: Pick<Outbound, 'fetch'>): ProviderFetch {
  return async (url, init) => {
    let response: Response
    try {
      response = await outbound.fetch(url, init)
    } catch (error) {
      throw toCallFailure(error)
    }
    if (response.status >= 500 || response.status === 429)
      throw new SignInError('provider_down', { cause: new Error(`${url} answered ${response.status}`) })
    return response
  }
}

/** Rejects with `SignInError` when the work takes too long. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    const cause = new Error(`no response within ${timeoutMs} ms`)
    timer = setTimeout(() => reject(new SignInError('provider_down', { cause })), timeoutMs)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}
