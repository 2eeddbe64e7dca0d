import { STRING, type Type } from '../../cel/index.ts'
import { facts } from '../variables/shape.ts'

/** What guards tell about a rejection. */
export const errorResult: Type = facts('error', { code: STRING, message: STRING })
