import type { PolicyAttachment } from '../../../dashboard/page-data.ts'
import type { Values } from '../form/model.ts'

const PROTOCOLS = ['http', 'https', 'tcp', 'tls'] as const

/** A URL for a trial of the policy: that of the endpoint, or an example. */
export function trialUrl({ kind, protocol }: PolicyAttachment, { url }: Values): string {
  const own = kind === 'cloud' ? String(url ?? '').replace('://*.', '://app.') : ''
  return URL.canParse(own) ? new URL(own).href : `${protocol}://app.example.com/`
}

/**
 * What the traffic policy in a field of a form is for; undefined for a field that is none. `apiPath` is where the form is
 * sent: to an endpoint, an edge, a route or to their module.
 */
export function policyAttachment(
  apiPath: string,
  field: string,
  values: Values,
): PolicyAttachment | undefined {
  if (field === 'traffic_policy' && /^\/endpoints(?:\/|$)/.test(apiPath)) {
    const scheme = String(values.url ?? '').split(':')[0]
    return { kind: 'cloud', protocol: PROTOCOLS.find((protocol) => protocol === scheme) ?? 'https' }
  }
  const isModule = field === 'value' && apiPath.endsWith('/traffic_policy')
  if (!isModule && field !== 'traffic_policy.value') return undefined
  const [, kind] = /^\/edges\/(https|tls|tcp)(?:\/|$)/.exec(apiPath) ?? []
  const protocol = PROTOCOLS.find((each) => each === kind)
  return protocol && { protocol, kind: protocol === 'https' ? 'route' : 'edge' }
}
