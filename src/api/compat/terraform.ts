import type { ApiCall } from '../call.ts'

/**
 * Versions 0.4 to 0.7 of the Terraform provider compare some fields with the configuration even where that leaves them to
 * the server, so a plan is empty only if they are null then. Each write of these versions holds what the configuration
 * holds: what it leaves out is stored with the resource, and null in their responses (docs/terraform.md).
 */

type Body = Readonly<Record<string, unknown>>

/** The compared fields that a write of each kind can hold. */
const COMPARED: Readonly<Record<string, { readonly create: string[]; readonly update: string[] }>> = {
  reserved_domains: {
    create: ['certificate_management_policy'],
    update: ['certificate_management_policy'],
  },
  vault_secrets: { create: ['vault_id', 'vault_name'], update: [] },
}

/** What a creation or an update stores of the fields that it leaves out. */
export function storedOmissions(
  write: 'create' | 'update',
  kind: string,
  { isOldTerraformProvider }: ApiCall,
  body: Body,
): { left_out?: string[] } {
  const fields = COMPARED[kind]?.[write] ?? []
  if (!isOldTerraformProvider || fields.length === 0) return {}
  return { left_out: fields.filter((field) => !(field in body)) }
}

/** The fields of a response that are null for these versions. */
export function nullsForOmitted(record: Body): Record<string, null> {
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
