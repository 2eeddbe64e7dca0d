import type { X509Certificate } from 'node:crypto'
import {
  BOOL,
  BYTES,
  listOf,
  objectOf,
  type Shape,
  STRING,
  Struct,
  TIMESTAMP,
  Timestamp,
  type Type,
} from '../../cel/index.ts'
import { type CertificateExtension, readExtensions } from './certificate-extensions.ts'
import { field, group, once } from './shape.ts'

const strings = listOf(STRING)

/** The attributes of a name by their CEL names. */
const ATTRIBUTES = {
  country: 'C',
  locality: 'L',
  organization: 'O',
  organizational_unit: 'OU',
  postal_code: 'postalCode',
  province: 'ST',
  street_address: 'street',
} as const

/** A distinguished name, one attribute a line, as Node writes it. */
interface NameSource {
  readonly lines: readonly string[]
  readonly text: string
}

const parseName = (text: string): NameSource => {
  const lines = text.split('\n').filter((line) => line !== '')
  return { lines, text: lines.toReversed().join(',') }
}

/** A distinguished name: a text in the order of RFC 2253, and its attributes. */
const nameType = (name: string): Type =>
  objectOf({
    name,
    text: ({ text }: NameSource) => text,
    fields: {
      common_name: field(
        STRING,
        once((source: NameSource) => attribute(source, 'CN')[0]),
      ),
      ...Object.fromEntries(
        Object.entries(ATTRIBUTES).map(([key, short]) => [
          key,
          field(
            strings,
            once((source: NameSource) => attribute(source, short)),
          ),
        ]),
      ),
    },
  })

const attribute = ({ lines }: NameSource, short: string): string[] =>
  lines.filter((line) => line.startsWith(`${short}=`)).map((line) => line.slice(short.length + 1))

/** `DNS:a, IP Address:1.2.3.4`; a name with a comma is quoted. */
const ALTERNATIVE = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

const alternatives = (kind: string) =>
  once(({ subjectAltName = '' }: X509Certificate) =>
    [...subjectAltName.matchAll(ALTERNATIVE)]
      .filter(([, found]) => found === kind)
      .map(([, , name]) => name!),
  )

const alternativeNames = objectOf({
  name: 'alternative names',
  text: ({ subjectAltName = '' }: X509Certificate) => subjectAltName,
  fields: {
    dns_names: field(strings, alternatives('DNS')),
    email_addresses: field(strings, alternatives('email')),
    ip_addresses: field(strings, alternatives('IP Address')),
    uris: field(strings, alternatives('URI')),
  },
})

const extensionShape: Shape = {
  name: 'extension',
  fields: {
    id: field(STRING, ({ id }: CertificateExtension) => id),
    critical: field(BOOL, ({ critical }: CertificateExtension) => critical),
    value: field(BYTES, ({ value }: CertificateExtension) => value),
  },
}
const extension = objectOf(extensionShape)

const moment = (text: string) => Timestamp.fromMillis(Date.parse(text))

const fields = {
  serial_number: field(STRING, ({ serialNumber }: X509Certificate) => serialNumber.toLowerCase()),
  signature_algorithm: field(STRING, ({ signatureAlgorithm }: X509Certificate) => signatureAlgorithm),
  subject: field(
    nameType('subject'),
    once(({ subject }: X509Certificate) => parseName(subject ?? '')),
  ),
  issuer: field(
    nameType('issuer'),
    once(({ issuer }: X509Certificate) => parseName(issuer ?? '')),
  ),
  san: field(alternativeNames, (source: X509Certificate) => source),
  extensions: field(
    listOf(extension),
    once((source: X509Certificate) => readExtensions(source).map((each) => new Struct(extensionShape, each))),
  ),
  validity: group('validity', {
    not_before: field(TIMESTAMP, ({ validFrom }: X509Certificate) => moment(validFrom)),
    not_after: field(TIMESTAMP, ({ validTo }: X509Certificate) => moment(validTo)),
  }),
}

/** A certificate, read from its parsed form. */
export const certificate: Type = objectOf({
  name: 'certificate',
  fields: {
    pem: field(
      STRING,
      once((source: X509Certificate) => source.toString()),
    ),
    ...fields,
  },
})

/** The certificate that was shown to the client. */
export const ownCertificate: Type = objectOf({ name: 'own certificate', fields })
