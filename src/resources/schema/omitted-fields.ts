import { hidden } from './define.ts'
import { list, text } from './value.ts'

/** The fields that the last write of an older Terraform provider left to the server. */
export const omittedFields = hidden(list(text(64)))
