/**
 * The catalogue of all error codes, put together from the declarations of `api`, `edge`, `protocol` and `agent`, and
 * what is made from it: the pages of the server, the text of `adit help CODE` and docs/errors.md. It loads the
 * declarations alone, never the parts. Begin with `catalogue.ts`.
 */
export { findError, loadErrorCatalogue } from './catalogue.ts'
export { explainErrors } from './command.ts'
export { renderExplanation } from './pages.ts'
