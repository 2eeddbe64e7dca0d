import type { Body, ClientDialect } from './dialect.ts'
import { ORIGINAL } from './original.ts'

/**
 * Versions 0.4 to 0.7 of the Terraform provider compare some fields with the configuration even where that leaves them to
 * the server, so a plan is empty only if they are null then. Each write of these versions holds what the configuration
 * holds: what it leaves out is stored with the resource, and null in their responses (docs/terraform.md).
 */

/** The compared fields that a write of each kind can hold. */
const COMPARED: Readonly<Record<string, { readonly create: string[]; readonly update: string[] }>> = {
  reserved_domains: {
    create: ['certificate_management_policy'],
    update: ['certificate_management_policy'],
  },
  vault_secrets: { create: ['vault_id', 'vault_name'], update: [] },
}

/** What a creation or an update stores of the fields that it leaves out. */
function storedOmissions(write: 'create' | 'update', kind: string, body: Body): { left_out?: string[] } {
  const fields = COMPARED[kind]?.[write]
  return fields === undefined || fields.length === 0
    ? {}
    : { left_out: fields.filter((field) => !(field in body)) }
}

/** The fields of a response that are null for these versions. */
function nullsForOmitted(record: Body): Record<string, null> {
  const { left_out: omitted = [] } = record as { left_out?: readonly string[] }
  // An automatic certificate comes with the policy; one that was uploaded is of the configuration.
  const hasPolicy =
    omitted.includes('certificate_management_policy') && record.certificate_management_policy !== null
  return {
    ...(hasPolicy && { certificate_management_policy: null, certificate: null }),
    ...(omitted.includes('vault_id') && { vault: null }),
    ...(omitted.includes('vault_name') && { vault_name: null }),
  }
}

/**
 * Hides the caller as an owner: these versions expect no owner unless the configuration names one, and replace a credential
 * that has another.
 */
function withoutDefaultOwner(body: unknown, callerId: string): unknown {
  const { owner_id: ownerId } = (body ?? {}) as Body
  return ownerId === callerId ? { ...(body as Body), owner_id: null } : body
}

/** The dialect of the versions 0.4 to 0.7 of the Terraform provider. */
export const OLD_TERRAFORM_PROVIDER: ClientDialect = {
  ...ORIGINAL,
  storedBeside: storedOmissions,
  shownBeside: nullsForOmitted,
  write(answer, request) {
    const { status, body } = ORIGINAL.write(answer, request)
    return { status, body: withoutDefaultOwner(body, request.ownerId) }
  },
}
