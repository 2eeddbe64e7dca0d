export { CommandFailure } from '../../base/command-line.ts'
