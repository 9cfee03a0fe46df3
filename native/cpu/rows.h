// Placeholder of the table; filled by the next change.
#pragma once
namespace vf { struct RowKernels {}; }
