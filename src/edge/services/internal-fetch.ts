import { isInternalName } from '../../base/values/endpoint-url.ts'

/** Calls an internal endpoint of one account. Throws `OutboundProblem`. */
export type FetchInternal = (
  url: URL,
  init: {
    readonly method?: string
    readonly headers?: readonly (readonly [string, string])[]
    readonly body?: string | null
    readonly signal?: AbortSignal
  },
) => Promise<Response>

/** Whether a URL names an internal endpoint, which no address of the network has. */
export const isInternalUrl = (url: string | URL): boolean => isInternalName(new URL(url).hostname)
