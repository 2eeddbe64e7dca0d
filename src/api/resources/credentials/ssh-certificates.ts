import { formatTimestamp } from '../../../base/values/clock.ts'
import { Secret } from '../../../base/values/secret.ts'
import {
  CertificateProblem,
  createSshAuthority,
  DEFAULT_SSH_VALIDITY_MS,
  newSshSerial,
  parseSshPublicKey,
  signSshCertificate,
} from '../../../certs/index.ts'
import {
  DEFAULT_EXTENSIONS,
  SshCertificateAuthority,
  SshHostCertificate,
  SshUserCertificate,
} from '../../../resources/index.ts'
import type { WriteContext } from '../../call.ts'
import { crud } from '../../crud/crud.ts'
import { fieldProblem } from '../../problems.ts'

export const sshCertificateAuthorities = crud(SshCertificateAuthority, {
  async prepare(record, { existing }) {
    if (existing !== undefined) return { record }
    const { private_key_type, elliptic_curve, key_size } = record
    const keys = await createSshAuthority({
      private_key_type,
      elliptic_curve: elliptic_curve ?? undefined,
      key_size: key_size ?? undefined,
    })
    return {
      record: {
        ...record,
        key_type: keys.keyType,
        public_key: keys.publicKey,
        private_key: keys.privateKeyPem.reveal(),
      },
    }
  },
})

interface CertificateRecord {
  public_key: string
  ssh_certificate_authority_id: string
  principals: string[]
  valid_after: string | null
  valid_until: string | null
  key_type: string
  certificate: string
}

/** Signs a certificate with the named authority and fills in the validity that the request left open. */
async function signCertificate<T extends CertificateRecord>(
  kind: 'user' | 'host',
  record: T,
  context: WriteContext,
  options: { criticalOptions?: Record<string, string>; extensions?: Record<string, string> } = {},
): Promise<T> {
  const field = 'ssh_certificate_authority_id'
  const authorityId = record[field]
  const authority = await context.store.get(
    'ssh_certificate_authorities',
    context.principal.accountId,
    authorityId,
  )
  if (authority === undefined) throw fieldProblem(field, 'no_such_reference', field, authorityId)

  const publicKey = parseSshPublicKey(record.public_key)
  const validAfter = record.valid_after === null ? context.clock.now() : Date.parse(record.valid_after)
  const validUntil =
    record.valid_until === null ? validAfter + DEFAULT_SSH_VALIDITY_MS[kind] : Date.parse(record.valid_until)
  const certificate = await signSshCertificate({
    kind,
    publicKey,
    authorityKey: new Secret(authority.secrets?.private_key ?? ''),
    serial: newSshSerial(),
    id: context.id,
    principals: record.principals,
    validAfter,
    validUntil,
    ...options,
  }).catch((error) => {
    // The end was derived from the start, so the start is the invalid field.
    throw error instanceof CertificateProblem && error.field === 'valid_until' && record.valid_until === null
      ? fieldProblem('valid_after', 'invalid_field', `valid_after: ${error.message}`)
      : error
  })
  return {
    ...record,
    public_key: record.public_key.trim(),
    key_type: publicKey.keyType,
    valid_after: formatTimestamp(validAfter),
    valid_until: formatTimestamp(validUntil),
    certificate,
  }
}

export const sshUserCertificates = crud(SshUserCertificate, {
  async prepare(record, context) {
    if (context.existing !== undefined) return { record }
    const extensions = record.extensions ?? DEFAULT_EXTENSIONS
    const options = { criticalOptions: record.critical_options, extensions }
    return { record: await signCertificate('user', { ...record, extensions }, context, options) }
  },
})

export const sshHostCertificates = crud(SshHostCertificate, {
  async prepare(record, context) {
    return {
      record: context.existing === undefined ? await signCertificate('host', record, context) : record,
    }
  },
})
