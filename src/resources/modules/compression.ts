import { defineModule } from '../module.ts'

/** Compresses responses for clients that accept it. */
export const Compression = defineModule('compression', {})
