import {
  BOOL,
  INT,
  listOf,
  mapOf,
  objectOf,
  STRING,
  TIMESTAMP,
  Timestamp,
  type Type,
} from '../../cel/index.ts'
import type { ConnectionSource, TlsSource } from '../activation.ts'
import { certificate, ownCertificate } from './certificate.ts'
import { fact, facts, field, plain, withOlderNames } from './shape.ts'

const PLACE = {
  city: STRING,
  continent: STRING,
  country: STRING,
  country_code: STRING,
  is_eu: BOOL,
  metro_code: STRING,
  subdivision: STRING,
  timezone: STRING,
}

const COORDINATES = { latitude: STRING, longitude: STRING, postal_code: STRING, radius: STRING }

/** An address, and where to ask for what is known about it. */
interface AddressSource {
  readonly address: string
  readonly conn: Pick<ConnectionSource, 'ipFacts'>
}

const factsOf = ({ address, conn }: AddressSource) => conn.ipFacts(address)

const BLOCKLIST = 'blocklist'
const TOR = 'proxy.anonymous.tor'

/** An address: a text, and what is known about it. */
const address = objectOf({
  name: 'address',
  text: ({ address }: AddressSource) => address,
  fields: {
    categories: fact(listOf(STRING), (source: AddressSource) => factsOf(source)?.categories),
    is_on_blocklist: fact(BOOL, (source: AddressSource) => factsOf(source)?.categories?.includes(BLOCKLIST)),
    is_tor_node: fact(BOOL, (source: AddressSource) => {
      const { isTorNode, categories } = factsOf(source) ?? {}
      return isTorNode ?? categories?.includes(TOR)
    }),
    as: fact(
      facts('as', { number: INT, organization: STRING }),
      (source: AddressSource) => factsOf(source)?.as,
    ),
    geo: fact(
      facts('geo', {
        location: facts('location', { ...PLACE, ...COORDINATES }),
        registered_location: facts('registered_location', PLACE),
      }),
      (source: AddressSource) => {
        const { location, registeredLocation } = factsOf(source) ?? {}
        return (location ?? registeredLocation) && { location, registered_location: registeredLocation }
      },
    ),
  },
})

/** What is known of a TLS connection. */
export const tlsFields = {
  sni: field(STRING, ({ sni }: TlsSource) => sni),
  version: field(STRING, ({ version }: TlsSource) => version?.replace(/^TLSv/, '')),
  cipher_suite: field(STRING, ({ cipher }: TlsSource) => cipher),
  ja4_fingerprint: field(STRING, ({ ja4 }: TlsSource) => ja4),
  negotiated_alpn: field(STRING, ({ alpn }: TlsSource) => alpn),
  // Every connection makes its own handshake or proves an earlier one; which of the two is not recorded.
  session_resumed: field(BOOL, () => false),
  client: field(certificate, ({ clientCertificate }: TlsSource) => clientCertificate),
  server: field(ownCertificate, ({ serverCertificate }: TlsSource) => serverCertificate),
}

const tls = objectOf({ name: 'tls', fields: tlsFields })

/** The same as plain values, for results of actions. */
export function readTls(source: TlsSource): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tlsFields).map(([name, { read }]) => [name, read(source as never)]),
  )
}

type PodMetadata = Readonly<Record<string, unknown>>

/** Clusters report no errors, so the fields for them are always empty. */
const podMetadata = objectOf({
  name: 'metadata',
  fields: {
    name: field(STRING, ({ name }: PodMetadata) => name),
    namespace: field(STRING, ({ namespace }: PodMetadata) => namespace),
    error_code: fact(STRING, () => undefined),
    error_message: fact(STRING, () => undefined),
    annotations: field(mapOf(STRING, STRING), ({ annotations }: PodMetadata) => annotations),
  },
})

/** The pod in a Kubernetes cluster that connected. */
const k8s = plain('k8s', {
  pod: plain('pod', {
    id: STRING,
    metadata: podMetadata,
  }),
})

/** `conn`: the connection of the client. */
export const conn: Type = objectOf({
  name: 'conn',
  fields: withOlderNames({
    client_ip: field(address, (conn: ConnectionSource) => ({ address: conn.remoteAddress, conn })),
    client_port: field(INT, ({ remotePort }: ConnectionSource) => remotePort),
    server_ip: field(address, (conn: ConnectionSource) => ({ address: conn.localAddress, conn })),
    server_port: field(INT, ({ localPort }: ConnectionSource) => localPort),
    bytes_in: field(INT, ({ bytesIn }: ConnectionSource) => bytesIn),
    bytes_out: field(INT, ({ bytesOut }: ConnectionSource) => bytesOut),
    server_region: field(STRING, ({ region }: ConnectionSource) => region),
    ts: field(plain('ts', { start: TIMESTAMP, end: TIMESTAMP }), ({ startedAt }: ConnectionSource) => ({
      start: Timestamp.fromMillis(startedAt),
    })),
    // The older form of `client_ip.geo.location`.
    geo: fact(
      facts('geo', {
        ...{ city: STRING, country: STRING, country_code: STRING, latitude: STRING },
        ...{ longitude: STRING, radius: STRING, subdivision: STRING },
      }),
      (conn: ConnectionSource) => conn.ipFacts(conn.remoteAddress)?.location,
    ),
    k8s: field(
      k8s,
      ({ pod }: ConnectionSource) =>
        pod && {
          pod: {
            id: pod.id,
            metadata: { name: pod.name, namespace: pod.namespace, annotations: pod.annotations },
          },
        },
    ),
    tls: field(tls, ({ tls }: ConnectionSource) => tls),
  }),
})
