import { parseDomain } from './domain.ts'

const INTERNAL_TLD = 'internal'
const MAX_INTERNAL_LABELS = 5

/** The protocols of endpoints: those that serve requests, and those that pass bytes on. */
export const HTTP_PROTOS = ['http', 'https'] as const
export const RAW_PROTOS = ['tcp', 'tls'] as const

/** The protocol of an endpoint. */
export type EndpointProto = (typeof HTTP_PROTOS)[number] | (typeof RAW_PROTOS)[number]

/** The port that a URL of this protocol may leave out. */
export const DEFAULT_PORTS = { http: 80, https: 443, tls: 443, tcp: undefined } as const

/** What a URL of these protocols alone is expected to be. */
const EXPECTED = new Map<readonly EndpointProto[], string>([
  [HTTP_PROTOS, 'an endpoint for requests, such as https://app.internal'],
  [RAW_PROTOS, 'an endpoint for connections, such as tls://app.internal or tcp://app.internal:5432'],
])

/** Whether a host name is one of internal endpoints. */
export const isInternalName = (host: string): boolean => host.endsWith(`.${INTERNAL_TLD}`)

/** The parts of an endpoint's URL. */
export interface EndpointUrl<P extends EndpointProto = EndpointProto> {
  readonly proto: P
  readonly host: string
  readonly port: number
}

/** Parses the URL of an endpoint with one of these protocols; throws a sentence that says what is wrong with it. */
export function parseEndpointUrl<const P extends EndpointProto = EndpointProto>(
  url: string,
  protos: readonly P[] = [...HTTP_PROTOS, ...RAW_PROTOS] as readonly EndpointProto[] as readonly P[],
): EndpointUrl<P> {
  const match = /^([a-z]+):\/\/([^/?#@:\s]+)(?::([0-9]{1,5}))?\/?$/i.exec(url)
  const proto = protos.find((candidate) => candidate === match?.[1]?.toLowerCase())
  if (match === null || proto === undefined) {
    const expected = EXPECTED.get(protos) ?? 'an endpoint, such as https://app.example.com'
    throw new Error(`"${url.slice(0, 80)}" is not a URL of ${expected}.`)
  }
  const port = match[3] === undefined ? DEFAULT_PORTS[proto] : Number(match[3])
  if (port === undefined) throw new Error(`a ${proto} URL needs a port, such as ${url.slice(0, 80)}:5432.`)
  if (port < 1 || port > 65_535) throw new Error(`${match[3]} is not a port.`)
  return { proto, host: parseDomain(match[2]!), port }
}

/** The same for an internal endpoint. */
export function parseInternalUrl<const P extends EndpointProto = EndpointProto>(
  url: string,
  protos?: readonly P[],
): EndpointUrl<P> {
  const parsed = parseEndpointUrl(url, protos)
  const { host } = parsed
  if (!isInternalName(host))
    throw new Error(`the host of an internal endpoint ends in .internal, not "${host}".`)
  if (host.split('.').length - 1 > MAX_INTERNAL_LABELS)
    throw new Error(`an internal name has at most ${MAX_INTERNAL_LABELS} labels before .internal.`)
  return parsed
}

/** The protocols of endpoints in Kubernetes clusters. */
const KUBERNETES_PROTOS: readonly EndpointProto[] = ['http', 'tls', 'tcp']

export const isKubernetesProto = (proto: EndpointProto): boolean => KUBERNETES_PROTOS.includes(proto)

/** The same for an endpoint in Kubernetes clusters, whose host is the name of a service. */
export function parseKubernetesUrl(url: string): EndpointUrl {
  const parsed = parseEndpointUrl(url)
  const labels = parsed.host.split('.')
  if (labels.length !== 2 || labels[0] === '*' || isInternalName(parsed.host))
    throw new Error(
      `the host of an endpoint in Kubernetes clusters is service.namespace, not "${parsed.host}".`,
    )
  return parsed
}
