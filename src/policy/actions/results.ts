import { STRING } from '../cel/types.ts'
import { plain } from '../variables/shape.ts'

/** What guards tell about a rejection. */
export const errorResult = plain('error', { code: STRING, message: STRING })
