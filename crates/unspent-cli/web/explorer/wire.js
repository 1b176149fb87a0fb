// A part as the program is asked about it.

export const wire = ({ scope, name }) => ({ scope: { kind: scope, name } });
export const unwired = ({ scope }) => ({ scope: scope.kind, name: scope.name });
