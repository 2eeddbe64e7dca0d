import { type Field, fieldOf } from '../message/fields.ts'
import type { Identity } from './sign-in.ts'

/**
 * The identity headers for the upstream. Clients cannot forge them: the edge drops every field that begins with
 * `adit-`.
 */
export function createIdentityFields({ id, name, email, groups, claims }: Identity): Field[] {
  const fields = [
    fieldOf('adit-auth-user-id', toFieldText(id)),
    fieldOf('adit-auth-user-name', toFieldText(name)),
    fieldOf('adit-auth-user-email', toFieldText(email)),
  ]
  if (groups.length > 0) fields.push(fieldOf('adit-auth-user-groups', toFieldText(groups.join(','))))
  if (Object.keys(claims).length > 0)
    fields.push(fieldOf('adit-auth-user-claims', Buffer.from(JSON.stringify(claims)).toString('base64url')))
  return fields
}

/** UTF-8 bytes without control characters. */
function toFieldText(value: string): string {
  return Buffer.from(value.replace(/[\x00-\x1f\x7f]/g, ' '), 'utf8').toString('latin1')
}
