export { runApi } from './run.ts'
