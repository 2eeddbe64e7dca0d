import { STRING, type Type } from '../cel/types.ts'
import { facts } from '../variables/shape.ts'

/** What guards tell about a rejection. */
export const errorResult: Type = facts('error', { code: STRING, message: STRING })
