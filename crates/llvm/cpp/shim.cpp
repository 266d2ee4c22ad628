// What LLVM's C interface lacks: registering passes, reading debug locations, editing edges.
// Strings that are returned belong to the module's metadata, except those of ft_demangle.

#include "llvm-c/Core.h"
#include "llvm/CodeGen/AtomicExpandUtils.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <cstdlib>
#include <cstring>

using namespace llvm;

extern "C" bool ft_instrument_module(LLVMModuleRef module);

namespace {

// Larger variables are left alone: who reads them too early is told so.
constexpr uint64_t mostUnknownBytes = 64;

// So many pointers to a variable are followed.
constexpr unsigned mostMeanings = 256;

// Gives bytes values that are not known.
void forget(IRBuilder<> &builder, Value *address, uint64_t size) {
  for (uint64_t offset = 0; offset < size;) {
    uint64_t word = 8;
    while (offset + word > size)
      word /= 2;
    Type *type = builder.getIntNTy(8 * word);
    Value *place = offset ? builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, offset) : address;
    builder.CreateAlignedStore(builder.CreateFreeze(UndefValue::get(type)), place, Align(1));
    offset += word;
  }
}

// Whether an access to a variable may lie outside of it for certain, in a place that is a constant. A pointer that is
// kept in another variable may be what is loaded from there.
bool isLeft(AllocaInst *variable, const DataLayout &layout) {
  std::optional<TypeSize> size = variable->getAllocationSize(layout);
  if (!size || size->isScalable())
    return false;
  int64_t bytes = size->getFixedValue();
  SmallVector<std::pair<Value *, int64_t>> open{{variable, 0}};
  DenseSet<std::pair<Value *, int64_t>> seen;
  while (!open.empty()) {
    auto [address, offset] = open.pop_back_val();
    if (!seen.insert({address, offset}).second)
      continue;
    if (seen.size() > mostMeanings)
      return true;
    for (User *user : address->users()) {
      uint64_t touched = 0;
      if (auto *part = dyn_cast<GEPOperator>(user)) {
        APInt more(64, 0);
        if (part->accumulateConstantOffset(layout, more))
          open.push_back({part, offset + more.getSExtValue()});
      } else if (auto *load = dyn_cast<LoadInst>(user)) {
        touched = layout.getTypeStoreSize(load->getType());
      } else if (auto *store = dyn_cast<StoreInst>(user); store && store->getPointerOperand() != address) {
        if (auto *keeper = dyn_cast<AllocaInst>(store->getPointerOperand()))
          for (User *kept : keeper->users())
            if (auto *load = dyn_cast<LoadInst>(kept); load && load->getType()->isPointerTy())
              open.push_back({load, offset});
      } else if (store) {
        touched = layout.getTypeStoreSize(store->getValueOperand()->getType());
      } else if (auto *range = dyn_cast<MemIntrinsic>(user)) {
        if (auto *length = dyn_cast<ConstantInt>(range->getLength()))
          touched = length->getZExtValue();
      }
      if (touched && (offset < 0 || uint64_t(offset) + touched > uint64_t(bytes)))
        return true;
    }
  }
  return false;
}

// Accesses that lie outside of their variable for certain are left to be found: from variables that are blocks of
// bytes, SROA removes nothing.
void keepOutside(Function &function) {
  const DataLayout &layout = function.getDataLayout();
  std::vector<AllocaInst *> left;
  for (Instruction &instruction : instructions(function))
    if (auto *variable = dyn_cast<AllocaInst>(&instruction); variable && isLeft(variable, layout))
      left.push_back(variable);
  for (AllocaInst *variable : left) {
    uint64_t size = variable->getAllocationSize(layout)->getFixedValue();
    if (size < 2)
      continue;
    IRBuilder<> builder(variable);
    AllocaInst *bytes = builder.CreateAlloca(builder.getInt8Ty(), variable->getAddressSpace(), builder.getInt64(size));
    bytes->setAlignment(variable->getAlign());
    bytes->takeName(variable);
    variable->replaceAllUsesWith(bytes);
    variable->eraseFromParent();
  }
}

// A local variable has a value that is not known until it is given one: at its begin, and wherever its declaration is
// passed again, which clang marks if it is told to initialise variables. Without that, LLVM would take a value for the
// missing one that suits it.
void keepIndeterminate(Function &function) {
  const DataLayout &layout = function.getDataLayout();
  std::vector<Instruction *> marked;
  std::vector<AllocaInst *> variables;
  SmallPtrSet<Value *, 8> begun;
  for (Instruction &instruction : instructions(function)) {
    if (auto *variable = dyn_cast<AllocaInst>(&instruction))
      variables.push_back(variable);
    if (MDNode *notes = instruction.getMetadata(LLVMContext::MD_annotation))
      for (const MDOperand &note : notes->operands())
        if (auto *text = dyn_cast<MDString>(note); text && text->getString() == "auto-init")
          marked.push_back(&instruction);
  }
  for (Instruction *instruction : marked) {
    IRBuilder<> builder(instruction);
    std::optional<uint64_t> size;
    Value *address = nullptr;
    if (auto *store = dyn_cast<StoreInst>(instruction)) {
      address = store->getPointerOperand();
      size = layout.getTypeStoreSize(store->getValueOperand()->getType());
    } else if (auto *fill = dyn_cast<MemSetInst>(instruction)) {
      address = fill->getDest();
      if (auto *length = dyn_cast<ConstantInt>(fill->getLength()))
        size = length->getZExtValue();
    }
    if (!address)
      continue;
    if (instruction->getParent()->isEntryBlock())
      begun.insert(address);
    if (size && *size <= mostUnknownBytes)
      forget(builder, address, *size);
    instruction->eraseFromParent();
  }
  for (AllocaInst *variable : variables) {
    std::optional<TypeSize> size = variable->getAllocationSize(layout);
    if (begun.contains(variable) || !size || size->isScalable() || size->getFixedValue() > mostUnknownBytes)
      continue;
    IRBuilder<> builder(variable->getNextNode());
    if (DISubprogram *where = function.getSubprogram())
      builder.SetCurrentDebugLocation(DILocation::get(function.getContext(), where->getLine(), 0, where));
    forget(builder, variable, size->getFixedValue());
  }
}

// Turns local variables into values, so that at -O0 too only memory that others can see is left.
// What a function that calls setjmp keeps in memory, the programmer may rely on at -O0.
struct PromoteLocals : PassInfoMixin<PromoteLocals> {
  SROAPass sroa{SROAOptions::PreserveCFG};

  PreservedAnalyses run(Function &function, FunctionAnalysisManager &manager) {
    if (function.callsFunctionThatReturnsTwice())
      return PreservedAnalyses::all();
    if (!std::getenv("FORETRACE_INDETERMINATE"))
      return sroa.run(function, manager);
    keepOutside(function);
    keepIndeterminate(function);
    PreservedAnalyses preserved = sroa.run(function, manager);
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (isa<FreezeInst>(instruction) && instruction.use_empty())
        instruction.eraseFromParent();
    return preserved;
  }
};

struct Instrument : PassInfoMixin<Instrument> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return ft_instrument_module(wrap(&module)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

void addPasses(ModulePassManager &manager) {
  manager.addPass(createModuleToFunctionPassAdaptor(PromoteLocals()));
  manager.addPass(Instrument());
}

struct Text {
  const char *start;
  size_t size;
};

Text text(StringRef string) { return {string.data(), string.size()}; }

// Mirrored in src/shim.rs.
struct Place {
  Text file;
  Text directory;
  Text name;
  Text linkage_name;
  uint32_t line;
  uint32_t column;
};

// Line tables have no linkage names, but the code itself does, as long as it is where it was written.
void describe(const DISubprogram *subprogram, const Function &function, Place *place) {
  if (!subprogram)
    return;
  place->name = text(subprogram->getName());
  place->linkage_name = text(subprogram->getLinkageName());
  if (subprogram->getLinkageName().empty() && function.getSubprogram() == subprogram)
    place->linkage_name = text(function.getName());
}

// The hooks know integers only.
void compareExchangeAsInteger(IRBuilderBase &builder, Value *address, Value *expected, Value *desired, Align alignment,
                              AtomicOrdering order, SyncScope::ID scope, Value *&succeeded, Value *&found) {
  Type *type = desired->getType();
  bool isInteger = type->isIntegerTy();
  if (!isInteger) {
    Type *integer = builder.getIntNTy(type->getPrimitiveSizeInBits());
    expected = builder.CreateBitCast(expected, integer);
    desired = builder.CreateBitCast(desired, integer);
  }
  Value *pair = builder.CreateAtomicCmpXchg(address, expected, desired, alignment, order,
                                            AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
  succeeded = builder.CreateExtractValue(pair, 1);
  found = builder.CreateExtractValue(pair, 0);
  if (!isInteger)
    found = builder.CreateBitCast(found, type);
}

// The numbers of foretrace_recording::site::order.
int number(AtomicOrdering order) {
  switch (order) {
  case AtomicOrdering::NotAtomic: return 0;
  case AtomicOrdering::Unordered: return 1;
  case AtomicOrdering::Monotonic: return 1;
  case AtomicOrdering::Acquire: return 2;
  case AtomicOrdering::Release: return 3;
  case AtomicOrdering::AcquireRelease: return 4;
  case AtomicOrdering::SequentiallyConsistent: return 5;
  }
  return 5;
}

} // namespace

// Called through the plugin's description, for each compilation.
extern "C" void ft_register(PassBuilder &builder) {
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager &manager, OptimizationLevel) { addPasses(manager); });
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager &manager, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "foretrace")
          return false;
        addPasses(manager);
        return true;
      });
}

// Where an instruction is; false without debug information.
extern "C" bool ft_place_of_instruction(LLVMValueRef value, Place *place) {
  const Instruction *instruction = unwrap<Instruction>(value);
  const DILocation *location = instruction->getDebugLoc();
  if (!location)
    return false;
  place->file = text(location->getFilename());
  place->directory = text(location->getDirectory());
  place->line = location->getLine();
  place->column = location->getColumn();
  describe(location->getScope()->getSubprogram(), *instruction->getFunction(), place);
  return true;
}

extern "C" bool ft_place_of_function(LLVMValueRef value, Place *place) {
  const Function *function = unwrap<Function>(value);
  const DISubprogram *subprogram = function->getSubprogram();
  if (!subprogram)
    return false;
  place->file = text(subprogram->getFilename());
  place->directory = text(subprogram->getDirectory());
  place->line = subprogram->getLine();
  describe(subprogram, *function, place);
  return true;
}

extern "C" bool ft_place_of_global(LLVMValueRef value, Place *place) {
  SmallVector<DIGlobalVariableExpression *, 1> expressions;
  unwrap<GlobalVariable>(value)->getDebugInfo(expressions);
  if (expressions.empty())
    return false;
  const DIGlobalVariable *variable = expressions.front()->getVariable();
  place->file = text(variable->getFilename());
  place->directory = text(variable->getDirectory());
  place->name = text(variable->getName());
  place->linkage_name = text(variable->getLinkageName());
  place->line = variable->getLine();
  return true;
}

// The directory in which the compiler ran, if the module has debug information.
extern "C" Text ft_compilation_directory(LLVMModuleRef module) {
  for (const DICompileUnit *unit : unwrap(module)->debug_compile_units())
    return text(unit->getDirectory());
  return {nullptr, 0};
}

// The qualified name without parameters and return type, for the caller to free; null if the name is not mangled.
// What follows a dot is a pass's own.
extern "C" char *ft_demangle(const char *symbol) {
  ItaniumPartialDemangler demangler;
  std::string mangled = StringRef(symbol).split('.').first.str();
  if (strncmp(symbol, "_Z", 2) != 0 || demangler.partialDemangle(mangled.c_str()))
    return nullptr;
  size_t size = 0;
  if (!demangler.isFunction())
    return demangler.finishDemangle(nullptr, &size);
  std::string name;
  char *context = demangler.getFunctionDeclContextName(nullptr, &size);
  if (context && *context)
    name = std::string(context) + "::";
  free(context);
  size = 0;
  char *base = demangler.getFunctionBaseName(nullptr, &size);
  if (base)
    name += base;
  free(base);
  return strdup(name.c_str());
}

// The order of an atomic load, store, fence or read-modify-write, or the one of a successful compare-exchange. A fence
// for signal handlers orders nothing between threads.
extern "C" int ft_order(LLVMValueRef value) {
  Instruction *instruction = unwrap<Instruction>(value);
  if (auto *load = dyn_cast<LoadInst>(instruction))
    return number(load->getOrdering());
  if (auto *store = dyn_cast<StoreInst>(instruction))
    return number(store->getOrdering());
  if (auto *rmw = dyn_cast<AtomicRMWInst>(instruction))
    return number(rmw->getOrdering());
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(instruction))
    return number(exchange->getSuccessOrdering());
  auto *fence = cast<FenceInst>(instruction);
  return fence->getSyncScopeID() == SyncScope::SingleThread ? 0 : number(fence->getOrdering());
}

extern "C" int ft_failure_order(LLVMValueRef exchange) {
  return number(unwrap<AtomicCmpXchgInst>(exchange)->getFailureOrdering());
}

// The number in foretrace_recording::site::rmw, or -1 for an operation that has none.
extern "C" int ft_rmw_operation(LLVMValueRef value) {
  switch (unwrap<AtomicRMWInst>(value)->getOperation()) {
  case AtomicRMWInst::Xchg: return 0;
  case AtomicRMWInst::Add: return 1;
  case AtomicRMWInst::Sub: return 2;
  case AtomicRMWInst::And: return 3;
  case AtomicRMWInst::Nand: return 4;
  case AtomicRMWInst::Or: return 5;
  case AtomicRMWInst::Xor: return 6;
  case AtomicRMWInst::Max: return 7;
  case AtomicRMWInst::Min: return 8;
  case AtomicRMWInst::UMax: return 9;
  case AtomicRMWInst::UMin: return 10;
  default: return -1;
  }
}

// Replaces a read-modify-write by a loop around a compare-exchange. LLVM starts it with a plain load; ours must not
// look like a race.
extern "C" void ft_expand_rmw(LLVMValueRef value) {
  auto *rmw = unwrap<AtomicRMWInst>(value);
  BasicBlock *block = rmw->getParent();
  Value *address = rmw->getPointerOperand();
  expandAtomicRMWToCmpXchg(rmw, compareExchangeAsInteger);
  for (Instruction &instruction : reverse(*block)) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    if (load && load->getPointerOperand() == address) {
      load->setOrdering(AtomicOrdering::Monotonic);
      break;
    }
  }
}

// A block that runs exactly when the invoke returned; its terminator is where to insert.
extern "C" LLVMValueRef ft_after_invoke(LLVMValueRef value) {
  auto *invoke = unwrap<InvokeInst>(value);
  BasicBlock *source = invoke->getParent();
  BasicBlock *target = invoke->getNormalDest();
  BasicBlock *between = BasicBlock::Create(target->getContext(), "returned", target->getParent(), target);
  BranchInst *branch = BranchInst::Create(target, between);
  branch->setDebugLoc(invoke->getDebugLoc());
  invoke->setNormalDest(between);
  target->replacePhiUsesWith(source, between);
  return wrap(branch);
}

// How many places assembly with labels may go on at.
extern "C" uint32_t ft_callbr_targets(LLVMValueRef value) { return unwrap<CallBrInst>(value)->getNumSuccessors(); }

// A block that runs exactly when assembly with labels went on at one of its targets; its terminator is where to insert.
extern "C" LLVMValueRef ft_after_callbr(LLVMValueRef value, uint32_t index) {
  auto *assembly = unwrap<CallBrInst>(value);
  BasicBlock *source = assembly->getParent();
  BasicBlock *target = assembly->getSuccessor(index);
  BasicBlock *between = BasicBlock::Create(target->getContext(), "jumped", target->getParent(), target);
  BranchInst *branch = BranchInst::Create(target, between);
  branch->setDebugLoc(assembly->getDebugLoc());
  assembly->setSuccessor(index, between);
  // The phis of the target have one entry for each edge: the first one becomes ours.
  for (PHINode &phi : target->phis()) {
    int entry = phi.getBasicBlockIndex(source);
    phi.setIncomingBlock(entry, between);
  }
  return wrap(branch);
}

// Makes a definition a declaration.
extern "C" void ft_drop_body(LLVMValueRef function) { unwrap<Function>(function)->deleteBody(); }

// The invoke's block no longer leads to the landing pad.
extern "C" void ft_forget_unwinding(LLVMValueRef value) {
  auto *invoke = unwrap<InvokeInst>(value);
  invoke->getUnwindDest()->removePredecessor(invoke->getParent(), /*KeepOneInputPHIs=*/true);
}

extern "C" void ft_add_constructor(LLVMModuleRef module, LLVMValueRef function, int priority) {
  appendToGlobalCtors(*unwrap(module), unwrap<Function>(function), priority);
}
