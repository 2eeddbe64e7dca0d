import { createField, type HeaderField } from '../message/fields.ts'
import type { Identity } from './sign-in.ts'

/**
 * The identity headers for the upstream. Clients cannot forge them: the edge drops every field that begins with
 * `adit-`.
 */
export function createIdentityFields({
  id,
  name,
  email,
  groups,
  areGroupsCut,
  claims,
}: Identity): HeaderField[] {
  const fields = [
    createField('adit-auth-user-id', toFieldText(id)),
    createField('adit-auth-user-name', toFieldText(name)),
    createField('adit-auth-user-email', toFieldText(email)),
  ]
  if (groups.length > 0)
    fields.push(createField('adit-auth-user-groups', toFieldText(groups.map(encodeGroup).join(','))))
  if (areGroupsCut) fields.push(createField('adit-auth-user-groups-truncated', 'true'))
  if (Object.keys(claims).length > 0)
    fields.push(
      createField('adit-auth-user-claims', Buffer.from(JSON.stringify(claims)).toString('base64url')),
    )
  return fields
}

/** A group whose name holds a comma must not look like two. */
function encodeGroup(group: string): string {
  return group.replace(/[%,\x00-\x1f\x7f]/g, encodeURIComponent)
}

/** UTF-8 bytes without control characters. */
function toFieldText(value: string): string {
  return Buffer.from(value.replace(/[\x00-\x1f\x7f]/g, ' '), 'utf8').toString('latin1')
}
