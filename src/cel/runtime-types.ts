import type { Type } from './types.ts'
import { isInt, isList, Optional, Struct, TypeValue, typeName, type Value } from './values.ts'

/** Whether a value can be an argument for a parameter of this type. Elements of lists and maps are not looked at. */
export function accepts(type: Type, value: Value): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
      return true
    case 'bool':
      return typeof value === 'boolean'
    case 'string':
      return typeof value === 'string'
    case 'int':
      return isInt(value)
    case 'list':
      return isList(value)
    case 'map':
      return value instanceof Map
    case 'type':
      return value instanceof TypeValue
    case 'timestamp':
      return typeName(value) === 'google.protobuf.Timestamp'
    case 'duration':
      return typeName(value) === 'google.protobuf.Duration'
    case 'object':
      return value instanceof Struct && value.shape === type.shape
    case 'opaque':
      return type.name === 'optional_type' ? value instanceof Optional : typeName(value) === type.name
    default:
      return typeName(value) === type.kind
  }
}

/** Whether every value of a checked type is accepted, so that values need not be looked at. */
export function fitsStatically(parameter: Type, argument: Type): boolean {
  return parameter.kind === 'dyn' || parameter.kind === 'parameter' || parameter.kind === argument.kind
}
